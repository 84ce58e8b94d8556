"""Observations and findings as text, JSON, JUnit XML and HTML."""
