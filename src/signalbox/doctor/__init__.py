"""The doctor: which node responds at each address of a Kafka cluster, and what is wrong with the routes (SPEC R8)."""
