"""Configs, client quotas and features."""
