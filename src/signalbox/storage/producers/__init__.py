"""Producer state of a log (KIP-98)."""
