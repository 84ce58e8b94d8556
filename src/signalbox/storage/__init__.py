"""Partition logs on disk in Kafka's own format: segments, indexes, producer state, checkpoints, retention, recovery.

All code here is synchronous and belongs to the thread of the event loop; operations that may take long (fsync, removal)
go through the `Background` port. `LogManager` is the entry point, `Log` is one partition.
"""
