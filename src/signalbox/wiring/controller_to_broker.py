"""Executes the three control requests on this broker. LeaderAndIsr and StopReplica go to replication, UpdateMetadata to
the metadata cache; the group coordinator gets the changes of topics that concern it."""

from __future__ import annotations

from signalbox.common.internal_topics import OFFSETS_TOPIC
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from signalbox.replication.replica_manager import ReplicaManager


class ControlRequests:
    """The handler has already checked the epochs of the requests."""

    def __init__(self, replicas: ReplicaManager, cache: MetadataCache, coordinator: GroupCoordinator) -> None:
        self._replicas = replicas
        self._cache = cache
        self._coordinator = coordinator
        cache.subscribe(self._image_changed)

    def leader_and_isr(self, request: LeaderAndIsrRequest, version: int) -> LeaderAndIsrResponse:
        """Yields."""
        return self._replicas.become_leader_or_follower(request, version)

    def stop_replica(self, request: StopReplicaRequest, version: int) -> StopReplicaResponse:
        return self._replicas.stop_replica(request, version)

    def update_metadata(self, request: UpdateMetadataRequest, version: int) -> UpdateMetadataResponse:
        self._cache.apply_update_metadata(request)
        return UpdateMetadataResponse()

    def _image_changed(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        offsets = new.topics.get(OFFSETS_TOPIC)
        if offsets is not None and offsets.partitions and OFFSETS_TOPIC in changed_topics:
            self._coordinator.set_partition_count(len(offsets.partitions))
        deleted = [topic for topic in changed_topics if topic in old.topics and topic not in new.topics]
        if deleted:
            self._coordinator.on_topics_deleted(deleted)
