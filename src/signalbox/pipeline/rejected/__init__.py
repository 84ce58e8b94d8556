"""Rejected records: listed, shown, and replayed into their table exactly once."""
