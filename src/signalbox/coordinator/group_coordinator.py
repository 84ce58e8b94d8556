"""The group coordinator's entry point: one method per API, protocol messages in and out.

A method returns a promise of the response, which may have to wait (for members to join, for replicas to acknowledge).
Errors are in the response, in the fields where Kafka has them. The handlers check authorization.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.internal_topics import OFFSETS_TOPIC
from signalbox.common.waiting.promise import Promise, gather
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision, R, TransactionEnd
from signalbox.coordinator.group.classic.member import ClientContext
from signalbox.coordinator.group.classic.membership_responses import rejected_join, rejected_sync, with_null_name
from signalbox.coordinator.group.group_map import listed
from signalbox.coordinator.group.group_shard import GroupShard
from signalbox.coordinator.group.offset_fetch import fetch_response, rejected_fetch, requested_groups
from signalbox.coordinator.group.offset_rows import COMMIT, TXN_COMMIT, ResponseClasses
from signalbox.coordinator.runtime import CoordinatorRuntime
from signalbox.coordinator.write_errors import client_error_for
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage, deleted_topics
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from signalbox.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from signalbox.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from signalbox.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

_PROTOCOL_IS_NAMED_FROM = 5  # SyncGroup: from this version on the request has protocol type and name


class GroupCoordinator:
    """`partition_count` of `__consumer_offsets` is that of the config until the topic is in the metadata image."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupShard],
        settings: GroupSettings,
        partition_count: int,
        cache: MetadataCache,
    ) -> None:
        self._runtime = runtime
        self._settings = settings
        self._partition_count = partition_count
        self._cache = cache
        cache.subscribe(self._image_changed)

    # --- leadership and metadata

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self._partition_count)

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        loaded = self._runtime.on_elected(partition, leader_epoch)
        loaded.when_done(lambda: self._delete_offsets(partition))

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        self._runtime.on_resigned(partition, leader_epoch)

    def _image_changed(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        offsets = new.topics.get(OFFSETS_TOPIC)
        if offsets is not None and offsets.partitions and OFFSETS_TOPIC in changed_topics:
            self._partition_count = len(offsets.partitions)
        deleted = deleted_topics(old, new, changed_topics)
        if deleted:
            for partition, shard in self._runtime.shards().items():
                shard.offset_delete.topics_deleted(deleted)
                self._delete_offsets(partition)

    def _delete_offsets(self, partition: int) -> None:
        """Delete the committed offsets of deleted topics in `partition`, unless it is loading: then after the load."""
        self._runtime.sweep(partition, lambda shard: shard.offset_delete.delete_topics())

    def stop(self) -> Promise[None]:
        """Resign all partitions; done when the waiting requests are rejected."""
        return self._runtime.stop()

    # --- membership

    def join_group(self, request: JoinGroupRequest, client: ClientContext) -> Promise[JoinGroupResponse]:
        if not request.group_id:
            return Promise.of(
                with_null_name(rejected_join(request.member_id, Error.INVALID_GROUP_ID), client.api_version)
            )
        timeouts = range(self._settings.min_session_timeout_ms, self._settings.max_session_timeout_ms + 1)
        if request.session_timeout_ms not in timeouts:
            return Promise.of(
                with_null_name(rejected_join(request.member_id, Error.INVALID_SESSION_TIMEOUT), client.api_version)
            )
        promise: Promise[JoinGroupResponse] = Promise()
        write = self._runtime.write(
            self.partition_for(request.group_id), lambda shard: shard.join_group.join(request, client, promise)
        )

        def reject_if_waiting() -> None:
            if isinstance(write.error, KafkaError) and not promise.is_done:
                promise.complete(rejected_join(request.member_id, client_error_for(write.error.error)))

        write.when_done(reject_if_waiting)
        return promise.map(lambda response: with_null_name(response, client.api_version))

    def sync_group(self, request: SyncGroupRequest, client: ClientContext) -> Promise[SyncGroupResponse]:
        if client.api_version >= _PROTOCOL_IS_NAMED_FROM and None in (request.protocol_type, request.protocol_name):
            return Promise.of(rejected_sync(Error.INCONSISTENT_GROUP_PROTOCOL))
        if not request.group_id:
            return Promise.of(rejected_sync(Error.INVALID_GROUP_ID))
        promise: Promise[SyncGroupResponse] = Promise()
        write = self._runtime.write(
            self.partition_for(request.group_id), lambda shard: shard.sync_group.sync(request, promise)
        )

        def reject_if_waiting() -> None:
            if isinstance(write.error, KafkaError) and not promise.is_done:
                promise.complete(rejected_sync(client_error_for(write.error.error)))

        write.when_done(reject_if_waiting)
        return promise

    def heartbeat(self, request: HeartbeatRequest, client: ClientContext) -> Promise[HeartbeatResponse]:
        if not request.group_id:
            return Promise.of(HeartbeatResponse(error_code=Error.INVALID_GROUP_ID))

        def rejected(rejection: KafkaError) -> HeartbeatResponse:
            # While the partition loads, members cannot be checked; their session timeouts restart after the load.
            error = client_error_for(rejection.error)
            return HeartbeatResponse(error_code=Error.NONE if error is Error.COORDINATOR_LOAD_IN_PROGRESS else error)

        beaten = self._runtime.read(self.partition_for(request.group_id), lambda shard: shard.heartbeat.beat(request))
        return beaten.map(lambda error: HeartbeatResponse(error_code=error)).recover(KafkaError, rejected)

    def leave_group(self, request: LeaveGroupRequest, client: ClientContext) -> Promise[LeaveGroupResponse]:
        if not request.group_id:
            return Promise.of(LeaveGroupResponse(error_code=Error.INVALID_GROUP_ID))
        left = self._runtime.write(
            self.partition_for(request.group_id), lambda shard: shard.leave_group.leave(request, client.api_version)
        )
        return left.recover(
            KafkaError, lambda rejection: LeaveGroupResponse(error_code=client_error_for(rejection.error))
        )

    # --- offsets

    def offset_commit(self, request: OffsetCommitRequest, client: ClientContext) -> Promise[OffsetCommitResponse]:
        """Topic names must be filled in, also at version 10, where the topic must have this id."""
        return self._write_offsets(
            request,
            COMMIT,
            lambda shard: shard.offset_commit.commit(request, client.api_version, shard.now_ms(), self._cache.image),
        )

    def _write_offsets(
        self,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        classes: ResponseClasses,
        commit: Callable[[GroupShard], Decision[R]],
    ) -> Promise[R]:
        """The offsets of deleted topics with these names are deleted first: it is a decision of its own."""

        def rejected(rejection: KafkaError) -> R:
            response: R = classes.rejected(request, self._cache.image, client_error_for(rejection.error))
            return response

        partition = self.partition_for(request.group_id)
        topics = [topic.name for topic in request.topics]
        self._runtime.write_background(
            partition, lambda shard: shard.offset_delete.delete_before_commit(request.group_id, topics)
        )
        return self._runtime.write(partition, commit).recover(KafkaError, rejected)

    def start_verification(self, group_id: str, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        """The guard for `txn_offset_commit`, to be taken before the transaction (producer id and epoch) is verified.
        Raises KafkaError with the error for the client."""
        try:
            return self._runtime.start_verification(self.partition_for(group_id), producer, raises_epochs=raises_epochs)
        except KafkaError as rejection:
            raise KafkaError(client_error_for(rejection.error)) from rejection

    def abandon_verification(self, group_id: str, producer_id: int, guard: object) -> None:
        """The transaction was rejected for good: `guard` will not be used."""
        self._runtime.abandon_verification(self.partition_for(group_id), producer_id, guard)

    def txn_offset_commit(
        self, request: TxnOffsetCommitRequest, guard: object | None = None
    ) -> Promise[TxnOffsetCommitResponse]:
        """As `offset_commit`, in the transaction of the request's producer. `guard`: from `start_verification`."""
        if not request.group_id:
            return Promise.of(TXN_COMMIT.rejected(request, self._cache.image, Error.INVALID_GROUP_ID))
        return self._write_offsets(
            request,
            TXN_COMMIT,
            lambda shard: shard.txn_offset_commit.commit(request, shard.now_ms(), self._cache.image, guard),
        )

    def transaction_rejection(self, partition: int) -> Error:
        """The error with which `complete_transaction` would be rejected now, or NONE."""
        return self._runtime.rejection(partition)

    def complete_transaction(
        self, partition: int, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> Promise[Error]:
        """The marker of the producer's transaction is committed in `partition` of `__consumer_offsets`: its offsets
        count now, or never. After COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR the marker must be retried: a load
        may have read the partition up to an end before the marker."""
        end = CoordinatorRecord(TransactionEnd(is_commit), None, producer_id)
        completed = self._runtime.read_after_writes(partition, lambda shard: shard.replay(end))
        return completed.map(lambda _: Error.NONE).recover(KafkaError, lambda rejection: rejection.error)

    def offset_fetch(self, request: OffsetFetchRequest, client: ClientContext) -> Promise[OffsetFetchResponse]:
        """Topic names must be filled in, also at version 10; `topic_id` is copied into the response. For a group
        whose topics are all requested, the response has names only."""
        promises = [
            self._fetch_one(asked, request.require_stable, client.api_version)
            for asked in requested_groups(request, client.api_version)
        ]
        return gather(promises).map(lambda groups: fetch_response(groups, client.api_version))

    def _fetch_one(
        self, asked: OffsetFetchRequest.OffsetFetchRequestGroup, require_stable: bool, api_version: int
    ) -> Promise[OffsetFetchResponse.OffsetFetchResponseGroup]:
        read = self._runtime.read_after_writes if require_stable else self._runtime.read
        fetched = read(
            self.partition_for(asked.group_id), lambda shard: shard.offset_fetch.fetch(asked, require_stable)
        )
        return fetched.recover(
            KafkaError, lambda rejection: rejected_fetch(asked, client_error_for(rejection.error), api_version)
        )

    def offset_delete(self, request: OffsetDeleteRequest, client: ClientContext) -> Promise[OffsetDeleteResponse]:
        if not request.group_id:
            return Promise.of(OffsetDeleteResponse(error_code=Error.INVALID_GROUP_ID))
        deleted = self._runtime.write(
            self.partition_for(request.group_id), lambda shard: shard.offset_delete.delete(request)
        )
        return deleted.recover(
            KafkaError, lambda rejection: OffsetDeleteResponse(error_code=client_error_for(rejection.error))
        )

    # --- administration of groups

    def describe_groups(self, request: DescribeGroupsRequest, client: ClientContext) -> Promise[DescribeGroupsResponse]:
        promises = [self._describe_one(group_id, client.api_version) for group_id in request.groups]
        return gather(promises).map(lambda groups: DescribeGroupsResponse(groups=groups))

    def _describe_one(self, group_id: str, api_version: int) -> Promise[DescribeGroupsResponse.DescribedGroup]:
        described = self._runtime.read(
            self.partition_for(group_id), lambda shard: shard.describe_group.describe(group_id, api_version)
        )
        return described.recover(
            KafkaError,
            lambda rejection: DescribeGroupsResponse.DescribedGroup(
                group_id=group_id, error_code=client_error_for(rejection.error)
            ),
        )

    def list_groups(self, request: ListGroupsRequest, client: ClientContext) -> Promise[ListGroupsResponse]:
        """The groups of all partitions that this broker coordinates; an error while one of them is loading."""
        response = ListGroupsResponse()
        for partition in self._runtime.partitions():
            groups = self._runtime.read(partition, lambda shard: listed(shard.groups, request))
            if groups.error is None:
                response.groups.extend(groups.result())
            elif isinstance(groups.error, KafkaError) and groups.error.error is not Error.NOT_COORDINATOR:
                return Promise.of(ListGroupsResponse(error_code=groups.error.error))
        return Promise.of(response)

    def delete_groups(self, request: DeleteGroupsRequest, client: ClientContext) -> Promise[DeleteGroupsResponse]:
        promises = [self._delete_one(group_id) for group_id in dict.fromkeys(request.groups_names)]
        return gather(promises).map(lambda results: DeleteGroupsResponse(results=results))

    def _delete_one(self, group_id: str) -> Promise[DeleteGroupsResponse.DeletableGroupResult]:
        def result(error: Error) -> DeleteGroupsResponse.DeletableGroupResult:
            return DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=error)

        deleted: Promise[Error] = self._runtime.write(
            self.partition_for(group_id), lambda shard: shard.expiry.delete(group_id)
        )
        return deleted.map(result).recover(KafkaError, lambda rejection: result(client_error_for(rejection.error)))


def java_string_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2]):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of `__consumer_offsets` whose leader coordinates `group_id`.

    Kafka uses abs(String.hashCode) with abs(-2^31) = 0, not the mask of the producers' partitioner."""
    value = abs(java_string_hash(group_id))
    return (0 if value == 1 << 31 else value) % partition_count
