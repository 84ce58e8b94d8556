"""Requests between brokers."""
