"""Decisions on brokers: registration, failure, restart, shutdown."""
