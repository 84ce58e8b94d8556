"""Decisions on topics: creation, more partitions, deletion."""
