"""Security: principals and their serde, ACL matching, the authorizer, SASL mechanisms, TLS contexts, JAAS. No I/O."""
