"""Decisions on configs, quotas, ACLs, users, tokens, features and producer ids."""
