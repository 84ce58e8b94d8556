"""The follower's side of replication."""
