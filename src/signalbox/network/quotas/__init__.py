"""Limits on connections (KIP-402, KIP-612)."""
