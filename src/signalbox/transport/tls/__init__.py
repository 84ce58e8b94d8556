"""TLS on both kinds of connections."""
