"""A group coordinator whose responses a test gives in advance, on a loopback cluster."""

from __future__ import annotations

from collections import deque
from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from signalbox.protocol.messages.heartbeat import HeartbeatResponse
from signalbox.protocol.messages.join_group import JoinGroupResponse
from signalbox.protocol.messages.leave_group import LeaveGroupResponse
from signalbox.protocol.messages.offset_commit import OffsetCommitResponse
from signalbox.protocol.messages.offset_fetch import OffsetFetchResponse
from signalbox.protocol.messages.sync_group import SyncGroupResponse
from tests.client.loopback_cluster import LoopbackCluster


class ScriptedCoordinator:
    """Broker 1 is the coordinator. `errors[api]` are the error codes of the next responses; after them there is none.
    `assignment` is what SyncGroup returns; `offsets` what OffsetFetch returns for each partition."""

    def __init__(self, cluster: LoopbackCluster) -> None:
        self.cluster = cluster
        self.errors: dict[ApiKey, deque[int]] = {}
        self.assignment = b""
        self.offsets: dict[tuple[str, int], int] = {}
        self.leads = False
        self.generation = 0
        self.host, self.port = cluster.brokers[1].address
        handlers = {
            ApiKey.FIND_COORDINATOR: self._find,
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.SYNC_GROUP: self._sync,
            ApiKey.HEARTBEAT: self._heartbeat,
            ApiKey.LEAVE_GROUP: self._leave,
            ApiKey.OFFSET_COMMIT: self._commit,
            ApiKey.OFFSET_FETCH: self._fetch,
        }
        for broker in cluster.brokers.values():
            for api_key, handler in handlers.items():
                broker.scripts[api_key] = handler

    def seen(self, api_key: ApiKey) -> list[Any]:
        return [request for broker in self.cluster.brokers.values() for request in broker.seen(api_key)]

    def fail(self, api_key: ApiKey, *errors: int) -> None:
        self.errors.setdefault(api_key, deque()).extend(errors)

    def _error(self, api_key: ApiKey) -> int:
        errors = self.errors.get(api_key)
        return int(errors.popleft()) if errors else 0

    def _find(self, request: Any, version: int) -> Any:
        row = FindCoordinatorResponse.Coordinator(
            key=request.coordinator_keys[0],
            node_id=1,
            host=self.host,
            port=self.port,
            error_code=self._error(ApiKey.FIND_COORDINATOR),
        )
        return FindCoordinatorResponse(coordinators=[row])

    def _join(self, request: Any, version: int) -> Any:
        error = self._error(ApiKey.JOIN_GROUP)
        member_id = request.member_id or "m-1"
        if error:
            return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name="")
        self.generation += 1
        protocol = request.protocols[0]
        row = JoinGroupResponse.JoinGroupResponseMember(member_id=member_id, metadata=protocol.metadata)
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name=protocol.name,
            leader=member_id if self.leads else "another",
            member_id=member_id,
            members=[row] if self.leads else [],
        )

    def _sync(self, request: Any, version: int) -> Any:
        assignment = request.assignments[0].assignment if request.assignments else self.assignment
        return SyncGroupResponse(error_code=self._error(ApiKey.SYNC_GROUP), assignment=assignment)

    def _heartbeat(self, request: Any, version: int) -> Any:
        return HeartbeatResponse(error_code=self._error(ApiKey.HEARTBEAT))

    def _leave(self, request: Any, version: int) -> Any:
        return LeaveGroupResponse()

    def _commit(self, request: Any, version: int) -> Any:
        error = self._error(ApiKey.OFFSET_COMMIT)
        topics = []
        for topic in request.topics:
            rows = [
                OffsetCommitResponse.OffsetCommitResponsePartition(
                    partition_index=row.partition_index, error_code=error
                )
                for row in topic.partitions
            ]
            topics.append(OffsetCommitResponse.OffsetCommitResponseTopic(name=topic.name, partitions=rows))
        return OffsetCommitResponse(topics=topics)

    def _fetch(self, request: Any, version: int) -> Any:
        error = self._error(ApiKey.OFFSET_FETCH)
        topics = []
        for topic in request.groups[0].topics:
            rows = [
                OffsetFetchResponse.OffsetFetchResponsePartitions(
                    partition_index=number, committed_offset=self.offsets.get((topic.name, number), -1), metadata=""
                )
                for number in topic.partition_indexes
            ]
            topics.append(OffsetFetchResponse.OffsetFetchResponseTopics(name=topic.name, partitions=rows))
        group = OffsetFetchResponse.OffsetFetchResponseGroup(
            group_id=request.groups[0].group_id, topics=topics, error_code=error
        )
        return OffsetFetchResponse(groups=[group])
