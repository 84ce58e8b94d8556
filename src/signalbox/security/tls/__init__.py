"""TLS: Kafka's ssl.* settings made into OpenSSL contexts, and what may be renewed while a listener serves."""
