"""Authentication of inbound connections."""
