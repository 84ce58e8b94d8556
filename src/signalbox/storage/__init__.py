"""Partition logs on disk in Kafka's own format: segments, indexes, producer state, checkpoints, retention, recovery.

Everything here is synchronous and belongs to the thread of the event loop; what may take long (fsync, removal)
goes through the `Background` port. `LogManager` is the door, `Log` is one partition.
"""
