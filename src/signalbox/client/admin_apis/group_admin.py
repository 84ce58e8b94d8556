"""Consumer groups: ListGroups at every broker; all other requests, offsets included, at the group's coordinator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signalbox.client.admin_apis.admin_call import RETRIED, AdminCall, AdminResult, left_ms, result_of
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import ClientFailure
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_groups import DeleteGroupsRequest
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.list_groups import ListGroupsRequest
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest

GROUP, TRANSACTION = 0, 1


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    state: str
    protocol_type: str
    protocol: str
    coordinator_id: int
    members: list[GroupMember]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int
    metadata: str | None


class GroupAdmin(AdminCall):
    async def list_groups(
        self, *, states: Sequence[str] = (), types: Sequence[str] = (), timeout_ms: float | None = None
    ) -> list[GroupListing]:
        """The groups of all brokers, by id: all, or those in these states (`Stable`, …) and of these types. KafkaError
        when one broker returns an error, ClientFailure when one is down or does not know the filter."""
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        responses = await self._of_each_node(request, None, self.client.deadline(timeout_ms))
        listings = {
            row.group_id: GroupListing(row.group_id, row.protocol_type, row.group_state, row.group_type)
            for response in responses.values()
            for row in response.groups
        }
        return [listings[group_id] for group_id in sorted(listings)]

    async def describe_group(self, group_id: str, *, timeout_ms: float | None = None) -> GroupDescription:
        """State and members of a group; KafkaError when the coordinator returns an error."""

        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, GroupDescription]:
            response = await self._coordinator_asked(node_id, DescribeGroupsRequest(groups=[group_id]), remaining_ms)
            (row,) = response.groups
            if row.error_code != Error.NONE:
                raise rejection_of(Error.of(row.error_code), row.error_message)
            members = [
                GroupMember(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    bytes(member.member_metadata),
                    bytes(member.member_assignment),
                )
                for member in row.members
            ]
            described = GroupDescription(
                group_id, row.group_state, row.protocol_type, row.protocol_data, node_id, members
            )
            return Error.NONE, described

        described: GroupDescription = await self._at_coordinator(group_id, attempt, timeout_ms)
        return described

    async def delete_groups(
        self, group_ids: Sequence[str], *, timeout_ms: float | None = None
    ) -> dict[str, AdminResult]:
        """Delete empty groups; the result of each."""
        results = {}
        for group_id in group_ids:

            async def attempt(node_id: int, remaining_ms: float, group_id: str = group_id) -> tuple[int, AdminResult]:
                response = await self._coordinator_asked(
                    node_id, DeleteGroupsRequest(groups_names=[group_id]), remaining_ms
                )
                (row,) = response.results
                return row.error_code, result_of(group_id, row.error_code, None)

            try:
                results[group_id] = await self._at_coordinator(group_id, attempt, timeout_ms)
            except KafkaError as rejection:
                results[group_id] = AdminResult(name=group_id, error=rejection.error, message=rejection.message)
        return results

    async def committed_offsets(
        self,
        group_id: str,
        *,
        partitions: Iterable[TopicPartition] | None = None,
        require_stable: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, CommittedOffset]:
        """Every offset that a group has committed, or those of some partitions. With `require_stable` the call waits
        for open transactions that commit offsets (KIP-447): of partitions without an earlier offset only if they are
        in `partitions`."""
        indexes: dict[str, list[int]] | None = None if partitions is None else {}
        for each in partitions or ():
            assert indexes is not None
            indexes.setdefault(each.topic, []).append(each.partition)

        def named(kind: Any) -> list[Any] | None:
            if indexes is None:
                return None
            return [kind(name=topic, partition_indexes=found) for topic, found in indexes.items()]

        def build(connection: ClientConnection) -> Any:
            request = OffsetFetchRequest
            if connection.version_for(request(), max_version=9) < 8:
                topics = named(request.OffsetFetchRequestTopic)
                return request(group_id=group_id, topics=topics, require_stable=require_stable)
            topics = named(request.OffsetFetchRequestTopics)
            group = request.OffsetFetchRequestGroup(group_id=group_id, topics=topics)
            return request(groups=[group], require_stable=require_stable)

        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, dict[TopicPartition, CommittedOffset]]:
            response = await self._coordinator_asked(node_id, build, remaining_ms, max_version=9)
            row = response.groups[0] if response.groups else response
            offsets = {
                TopicPartition(topic.name, partition.partition_index): CommittedOffset(
                    partition.committed_offset, partition.committed_leader_epoch, partition.metadata
                )
                for topic in row.topics
                for partition in topic.partitions
                if partition.error_code == Error.NONE and partition.committed_offset >= 0
            }
            errors = [partition.error_code for topic in row.topics for partition in topic.partitions]
            return Error.UNSTABLE_OFFSET_COMMIT if Error.UNSTABLE_OFFSET_COMMIT in errors else row.error_code, offsets

        committed: dict[TopicPartition, CommittedOffset] = await self._at_coordinator(group_id, attempt, timeout_ms)
        return committed

    async def alter_committed_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> None:
        """Commit offsets on behalf of a group without members; KafkaError names the first rejected partition."""
        message_type = OffsetCommitRequest
        topics: dict[str, list[Any]] = {}
        for partition, offset in offsets.items():
            row = message_type.OffsetCommitRequestPartition(
                partition_index=partition.partition, committed_offset=offset, committed_metadata=""
            )
            topics.setdefault(partition.topic, []).append(row)
        request = message_type(
            group_id=group_id,
            topics=[message_type.OffsetCommitRequestTopic(name=name, partitions=rows) for name, rows in topics.items()],
        )

        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, None]:
            response = await self._coordinator_asked(node_id, request, remaining_ms, max_version=9)
            codes = [row.error_code for topic in response.topics for row in topic.partitions]
            return next((code for code in codes if code != Error.NONE), int(Error.NONE)), None

        await self._at_coordinator(group_id, attempt, timeout_ms)

    async def _coordinator_asked(
        self, node_id: int, message: Any, timeout_ms: float, max_version: int | None = None
    ) -> Any:
        return await self.client.request(
            node_id, message, purpose=Purpose.COORDINATOR, timeout_ms=timeout_ms, max_version=max_version
        )

    async def _at_coordinator(
        self,
        key: str,
        attempt: Callable[[int, float], Awaitable[tuple[int, Any]]],
        timeout_ms: float | None,
        key_type: int = GROUP,
    ) -> Any:
        """The result of `attempt(node id, ms left)` at the coordinator of a group or transactional id, looked up before
        each attempt."""
        deadline = self.client.deadline(timeout_ms)
        last: Exception
        tries = 0
        while True:
            try:
                node_id = await find_coordinator(self.client, key, key_type, timeout_ms=left_ms(deadline))
                error_code, result = await attempt(node_id, left_ms(deadline))
                if error_code == Error.NONE:
                    return result
                raise rejection_of(Error.of(error_code))
            except KafkaError as rejection:
                last, is_retried = rejection, rejection.error in RETRIED
            except ClientFailure as failure:
                last, is_retried = failure, failure.retriable
            tries += 1
            if is_retried:
                await self.client.pause(tries, deadline)
            if not is_retried or left_ms(deadline) <= 0:
                raise last


async def find_coordinator(
    client: ClusterClient, key: str, key_type: int = GROUP, *, timeout_ms: float | None = None
) -> int:
    """The coordinator's node id, by FindCoordinator at any version, from any node.

    KafkaError (COORDINATOR_NOT_AVAILABLE and others) when the response has an error.
    """

    def build(connection: ClientConnection) -> Any:
        batched = connection.version_for(FindCoordinatorRequest()) >= 4
        return FindCoordinatorRequest(
            key="" if batched else key, key_type=key_type, coordinator_keys=[key] if batched else []
        )

    response = await client.request_any(build, timeout_ms=timeout_ms)
    row = response.coordinators[0] if response.coordinators else response
    if row.error_code != Error.NONE:
        raise rejection_of(Error.of(row.error_code), row.error_message)
    return int(row.node_id)
