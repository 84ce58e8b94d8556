"""Executes the three control requests on this broker. LeaderAndIsr and StopReplica go to replication, UpdateMetadata to
the metadata cache."""

from __future__ import annotations

from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from signalbox.replication.replica_manager import ReplicaManager


class ControlRequests:
    """The handler has already checked the epochs of the requests."""

    def __init__(self, replicas: ReplicaManager, cache: MetadataCache) -> None:
        self._replicas = replicas
        self._cache = cache

    def leader_and_isr(self, request: LeaderAndIsrRequest, version: int) -> LeaderAndIsrResponse:
        return self._replicas.become_leader_or_follower(request, version)

    def stop_replica(self, request: StopReplicaRequest, version: int) -> StopReplicaResponse:
        return self._replicas.stop_replica(request, version)

    def update_metadata(self, request: UpdateMetadataRequest, version: int) -> UpdateMetadataResponse:
        self._cache.apply_update_metadata(request)
        return UpdateMetadataResponse()
