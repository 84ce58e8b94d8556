"""Changes of listeners while the node runs."""
