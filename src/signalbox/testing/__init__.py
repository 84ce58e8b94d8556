"""For those who test against Kafka: an in-process cluster, clusters of processes, a switchboard that misroutes."""
