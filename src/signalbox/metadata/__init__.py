"""Metadata of the cluster: the store port and its adapters, the entries, the image that brokers serve metadata from."""
