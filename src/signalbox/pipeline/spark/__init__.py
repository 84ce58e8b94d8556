"""Spark's JVM, jars and sessions: everything that must be there before a query runs."""
