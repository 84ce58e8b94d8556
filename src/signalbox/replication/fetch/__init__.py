"""Fetch requests of consumers and followers, on the leader."""
