"""Test tools for Kafka clients: an in-process cluster, clusters of processes, a switchboard that causes misroutes."""
