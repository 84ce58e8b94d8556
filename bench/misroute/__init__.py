"""How fast a client gets over a route that was wrong for 200 ms: ours on our brokers, Java's on Apache Kafka 4.4; and
how long the doctor and the first test with a cluster take."""
