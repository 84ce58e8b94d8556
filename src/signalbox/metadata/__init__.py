"""What the cluster knows: the store port and its adapters, the keys in it, the image brokers serve metadata from."""
