"""What transactions cost, beside Apache Kafka 4.4 (`make bench-transactions`)."""
