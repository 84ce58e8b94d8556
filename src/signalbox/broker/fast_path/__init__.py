"""Repeated requests, answered without decoding and encoding."""
