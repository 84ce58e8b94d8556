"""Commands of administrators: quotas, log directories, features, the health of a cluster."""
