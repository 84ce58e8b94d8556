"""TLS: OpenSSL contexts from Kafka's ssl.* settings, and their renewal while a listener serves."""
