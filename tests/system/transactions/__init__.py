"""Exactly-once loops of real clients: consume, transform, produce, with the offsets in the same transaction."""
