"""One connection to one broker: TCP, TLS, SASL, requests and responses."""
