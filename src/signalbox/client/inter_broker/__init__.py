"""Connections between brokers: to the active controller, from it, and to leaders."""
