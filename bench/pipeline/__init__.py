"""What it costs to write a topic into a Delta table, from ours and from Apache Kafka (`make bench-pipeline`)."""
