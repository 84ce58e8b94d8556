"""Changes of metadata, many partitions and failover: ours beside Apache Kafka, the same requests to both."""
