"""Segments of a log, and their indexes."""
