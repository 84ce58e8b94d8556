"""Metrics of requests and connections."""
