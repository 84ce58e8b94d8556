"""In-sync replicas, on the leader."""
