"""Copies of the metadata store, and how an older copy is recognized."""
