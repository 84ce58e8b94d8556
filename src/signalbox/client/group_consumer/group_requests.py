"""The requests of one group member to the group's coordinator, which is looked up when it is not known.

JoinGroup and SyncGroup wait for the other members, and a broker answers the requests of a connection in order: they and
the heartbeats have a connection of their own (`Purpose.GROUP`), commits another one (`Purpose.COORDINATOR`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from signalbox.client.admin_apis.admin_call import left_ms
from signalbox.client.admin_apis.group_admin import CommittedOffset, find_coordinator
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.coordinator_metrics import CoordinatorMetrics
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.membership import Membership
from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.messages.heartbeat import HeartbeatRequest
from signalbox.protocol.messages.join_group import JoinGroupRequest
from signalbox.protocol.messages.leave_group import LeaveGroupRequest
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from signalbox.protocol.messages.sync_group import SyncGroupRequest

PROTOCOL_TYPE = "consumer"
_JOIN_MARGIN_MS = 5_000  # beyond the rebalance timeout, as in the Java client
_BATCHED_LEAVE_FROM = 3
_GROUPS_FROM = 8
_SILENT_S = 5.0  # a first group has no coordinator until __consumer_offsets is created
_BY_NAME = 9  # the newest version of OffsetCommit and OffsetFetch with topic names


log = logging.getLogger(__name__)


class GroupRequests:
    """All methods: ClientFailure when there is no response."""

    def __init__(self, client: ClusterClient, settings: GroupConsumerSettings, membership: Membership) -> None:
        self._client = client
        self._settings = settings
        self._membership = membership
        self.metrics = CoordinatorMetrics()
        self._coordinator: tuple[int, int] | None = None  # node id, and the rebootstraps before it was found
        self._missing_since: float | None = None
        self._warned = False

    async def coordinator(self, timeout_ms: float | None = None) -> int:
        """The coordinator's node id; KafkaError when the group has none now, or may not be used. A group that has none
        for some seconds is a warning, once until it has one."""
        if self._coordinator is None or self._coordinator[1] != self._client.rebootstraps:
            rebootstraps = self._client.rebootstraps
            try:
                node_id = await find_coordinator(self._client, self._settings.group_id, timeout_ms=timeout_ms)
            except KafkaError as error:
                self._warn_of_missing(error)
                raise
            self._coordinator, self._missing_since, self._warned = (node_id, rebootstraps), None, False
        return self._coordinator[0]

    def _warn_of_missing(self, error: KafkaError) -> None:
        now = asyncio.get_running_loop().time()
        self._missing_since = now if self._missing_since is None else self._missing_since
        if now - self._missing_since >= _SILENT_S and not self._warned:
            self._warned = True
            log.warning("Group %s has no coordinator and waits for one: %s", self._settings.group_id, error)

    def coordinator_moved(self) -> None:
        """Look the coordinator up again before the next request."""
        self._coordinator = None

    async def join(self, protocols: Sequence[tuple[str, bytes]], reason: str | None) -> Any:
        """JoinGroupResponse, when all members have joined."""
        membership, settings = self._membership, self._settings
        request = JoinGroupRequest(
            group_id=settings.group_id,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            member_id=membership.member_id,
            group_instance_id=membership.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols
            ],
            reason=reason,
        )
        response = self._ask(request, Purpose.GROUP, settings.max_poll_interval_ms + _JOIN_MARGIN_MS)
        return await self.metrics.timed(self.metrics.join_ms, response)

    async def sync(self, assignments: Mapping[str, bytes]) -> Any:
        """SyncGroupResponse, when the leader has sent the assignments; they are empty for the other members."""
        membership = self._membership
        request = SyncGroupRequest(
            group_id=self._settings.group_id,
            generation_id=membership.generation,
            member_id=membership.member_id,
            group_instance_id=membership.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=membership.protocol,
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in assignments.items()
            ],
        )
        response = self._ask(request, Purpose.GROUP, self._settings.max_poll_interval_ms + _JOIN_MARGIN_MS)
        return await self.metrics.timed(self.metrics.sync_ms, response)

    async def heartbeat(self) -> Any:
        membership = self._membership
        request = HeartbeatRequest(
            group_id=self._settings.group_id,
            generation_id=membership.generation,
            member_id=membership.member_id,
            group_instance_id=membership.group_instance_id,
        )
        return await self.metrics.timed(self.metrics.heartbeat_ms, self._ask(request, Purpose.GROUP))

    async def leave(self, reason: str, timeout_ms: float) -> Any:
        """Leave the group. On the commits' connection: a JoinGroup may wait on the other one."""
        member_id, group_id = self._membership.member_id, self._settings.group_id

        def build(connection: ClientConnection) -> Any:
            row = LeaveGroupRequest.MemberIdentity(member_id=member_id, reason=reason)
            if connection.version_for(LeaveGroupRequest()) < _BATCHED_LEAVE_FROM:
                return LeaveGroupRequest(group_id=group_id, member_id=member_id)
            return LeaveGroupRequest(group_id=group_id, members=[row])

        return await self._ask(build, Purpose.COORDINATOR, timeout_ms)

    async def commit(self, offsets: Mapping[TopicPartition, CommittedOffset], timeout_ms: float) -> dict[Any, int]:
        """The error code by partition."""
        membership = self._membership
        topics = [
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic,
                partitions=[_commit_row(number, offsets[TopicPartition(topic, number)]) for number in numbers],
            )
            for topic, numbers in numbers_by_topic(offsets).items()
        ]
        request = OffsetCommitRequest(
            group_id=self._settings.group_id,
            generation_id_or_member_epoch=membership.generation,
            member_id=membership.member_id,
            group_instance_id=membership.group_instance_id,
            topics=topics,
        )
        asked = self._ask(request, Purpose.COORDINATOR, timeout_ms, _BY_NAME)
        response = await self.metrics.timed(self.metrics.commit_ms, asked)
        return {
            TopicPartition(topic.name, row.partition_index): row.error_code
            for topic in response.topics
            for row in topic.partitions
        }

    async def committed(self, partitions: Sequence[TopicPartition], timeout_ms: float) -> tuple[int, list[Any]]:
        """(error code of the group, rows of OffsetFetchResponse by topic)."""
        group_id, rows = self._settings.group_id, numbers_by_topic(partitions).items()

        def build(connection: ClientConnection) -> Any:
            if connection.version_for(OffsetFetchRequest(), max_version=_BY_NAME) < _GROUPS_FROM:
                old = OffsetFetchRequest.OffsetFetchRequestTopic
                topics = [old(name=topic, partition_indexes=numbers) for topic, numbers in rows]
                return OffsetFetchRequest(group_id=group_id, topics=topics)
            new = OffsetFetchRequest.OffsetFetchRequestTopics
            group = OffsetFetchRequest.OffsetFetchRequestGroup(
                group_id=group_id, topics=[new(name=topic, partition_indexes=numbers) for topic, numbers in rows]
            )
            return OffsetFetchRequest(groups=[group], require_stable=True)

        response = await self._ask(build, Purpose.COORDINATOR, timeout_ms, _BY_NAME)
        group = response.groups[0] if response.groups else response
        return group.error_code, group.topics

    async def _ask(
        self, message: Any, purpose: Purpose, timeout_ms: float | None = None, max_version: int | None = None
    ) -> Any:
        deadline = None if timeout_ms is None else self._client.deadline(timeout_ms)
        node_id = await self.coordinator(timeout_ms)
        try:
            return await self._client.request(
                node_id,
                message,
                purpose=purpose,
                timeout_ms=None if deadline is None else left_ms(deadline),
                max_version=max_version,
                waits_on_broker=purpose is Purpose.GROUP,
            )
        except ClientFailure:
            self.coordinator_moved()
            raise


def _commit_row(partition: int, committed: CommittedOffset) -> Any:
    return OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        committed_metadata=committed.metadata or "",
    )
