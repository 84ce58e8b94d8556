"""The `ClusterView` port over the broker's metadata cache."""

from __future__ import annotations

from signalbox.common.ids import TopicPartition
from signalbox.metadata.cache import MetadataCache


class CachedCluster:
    """Looks into the cache's present image at every question."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def is_alive(self, broker_id: int) -> bool:
        return self._cache.image.is_alive(broker_id)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._cache.image.topic_name(topic_id)

    def leader_of(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        found = self._cache.image.partition(topic_partition.topic, topic_partition.partition)
        return None if found is None else (found.leader, found.leader_epoch)
