"""What compaction costs, beside Apache Kafka 4.4, and produce beside it (`make bench-compaction`)."""
