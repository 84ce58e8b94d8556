"""Records: produce, fetch, offsets of partitions."""
