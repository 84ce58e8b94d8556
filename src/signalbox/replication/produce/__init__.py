"""Produce requests, on the leader."""
