"""Formats of keys, values and headers: bytes become fields. Pure Python without Spark: the same in both profiles."""
