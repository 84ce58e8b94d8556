"""Forwarding of changes to the active controller (KIP-590)."""
