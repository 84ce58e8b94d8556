"""Writes batches to Delta tables, exactly once."""
