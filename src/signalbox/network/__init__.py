"""Inbound connections: the listener table, listeners, connections, one request path per plane, connection limits."""
