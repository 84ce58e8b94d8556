"""Maintenance of tables: small files are compacted, old ones deleted, the log is summarized. No Spark, no Java."""
