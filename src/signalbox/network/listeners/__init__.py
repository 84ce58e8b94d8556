"""Listeners: addresses, roles, security (KIP-103)."""
