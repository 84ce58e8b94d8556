"""LeaderAndIsr, UpdateMetadata and StopReplica: what is sent to which broker."""
