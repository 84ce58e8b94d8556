"""The Kafka client of a run: one set of properties with Java's names, for both profiles."""
