"""Replication's view of the cluster: the metadata cache as an implementation of `replication/ports.py`."""

from __future__ import annotations

from signalbox.common.ids import TopicPartition
from signalbox.metadata.cache import MetadataCache


class CachedClusterView:
    """Reads the current metadata image."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def is_alive(self, broker_id: int) -> bool:
        return self._cache.image.is_alive(broker_id)

    def broker_epoch(self, broker_id: int) -> int:
        """UpdateMetadata carries no broker epochs; with -1 the controller does not compare them."""
        return -1

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._cache.image.topic_name(topic_id)

    def topic_id(self, topic: str) -> bytes:
        return self._cache.image.topic_id(topic)

    def leader_of(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        partition = self._cache.image.partition(*topic_partition)
        return None if partition is None else (partition.leader, partition.leader_epoch)
