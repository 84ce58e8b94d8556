"""Listeners of a running node change (KIP-226): validating a change, applying it, renewing certificates."""
