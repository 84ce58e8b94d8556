"""A client's view of a cluster: metadata, connections, rebootstrap."""
