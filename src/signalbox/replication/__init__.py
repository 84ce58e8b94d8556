"""Replicas: partitions, ISR, high watermark, produce and fetch with their purgatory and sessions, follower fetchers.

`ReplicaManager` is the door, `Partition` one replica's state. Everything runs on the loop's thread; answers that have
to wait are `Pending`s. Knows storage and client by import; the controller, the metadata and the loop by ports.
"""
