"""Metadata that brokers below the gate write themselves (decision 0021)."""
