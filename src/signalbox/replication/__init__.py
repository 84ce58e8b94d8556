"""Replicas: partitions, ISR, high watermark, produce and fetch with their purgatory and sessions, follower fetchers.

`ReplicaManager` is the entry point, `Partition` the state of one replica. Everything runs on the event loop's thread;
responses that must wait are `Promise`s. Imports storage and client; uses controller, metadata and event loop by ports.
"""
