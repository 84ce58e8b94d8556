"""Sockets that listen, and new connections."""
