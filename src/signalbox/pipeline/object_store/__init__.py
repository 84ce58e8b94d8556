"""Tables in S3 and stores with its API: where they are, the access to them, the files that Spark's tasks write."""
