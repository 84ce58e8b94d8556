"""The markers that end a transaction in each of its partitions: requested by a shard, sent to the leaders."""
