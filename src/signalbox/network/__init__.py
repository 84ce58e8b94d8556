"""The inbound side: the listener table, listeners, connections, one request path per plane, connection limits."""
