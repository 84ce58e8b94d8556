"""A group coordinator on a manual clock, over a log in memory; tests send requests to it and check the responses."""

from __future__ import annotations

import asyncio
import functools
import itertools
import struct
from collections.abc import Callable, Coroutine
from typing import Any

from tests.broker.handler_requests import update
from tests.common.waiting.manual_time import ManualTimers
from tests.coordinator.memory_log import MemoryLog
from tests.waiting import settle as settle  # the tests of this package import it with the bench

from signalbox.common.clock import ManualClock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.config_rows import GroupSettings, RuntimeSettings
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.member import ClientContext
from signalbox.coordinator.group.group_records import GroupRecordSerde
from signalbox.coordinator.group.group_shard import GroupShard
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.ports import Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.group_records import GroupMetadataKey, OffsetCommitKey
from signalbox.protocol.messages.heartbeat import HeartbeatRequest
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from signalbox.protocol.messages.leave_group import LeaveGroupRequest
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from signalbox.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest as Update
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch

PARTITION = 0
CLIENT = ClientContext("client", "/127.0.0.1", 9)
SESSION_MS = 10_000
REBALANCE_MS = 60_000
UPDATE = update({1: ["CLIENT"]}, {topic: {index: (1, [1]) for index in range(100)} for topic in ("t", "u", "old")})


def transcript(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs an async test on a new event loop."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def scheduler_of_one_slice() -> TaskScheduler:
    """A scheduler on the running loop whose tasks are complete after one round, also on a slow machine."""
    return TaskScheduler(asyncio.get_running_loop(), slice_us=10**12)


def scheduler_of_small_slices() -> TaskScheduler:
    """A scheduler on the running loop whose tasks yield at every step: a load or a sweep takes many rounds."""
    return TaskScheduler(asyncio.get_running_loop(), slice_us=0)


def cache_with_topics() -> MetadataCache:
    """A cache that has the topics t, u and old, with many partitions."""
    cache = MetadataCache()
    cache.apply_update_metadata(UPDATE)
    return cache


def subscription(*topics: str) -> bytes:
    """A consumer subscription, version 0."""
    names = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


class BenchCall:
    """A request in progress: `response` is set when it is complete."""

    def __init__(self, reply: Promise[Any]) -> None:
        self._reply = reply

    @property
    def answered(self) -> bool:
        return self._reply.is_done

    @property
    def response(self) -> Any:
        assert self.answered, "not answered yet"
        return self._reply.result()


class Bench:
    new_scheduler = staticmethod(scheduler_of_one_slice)

    def __init__(
        self,
        settings: GroupSettings | None = None,
        log: MemoryLog | None = None,
        clock: ManualClock | None = None,
        runtime_settings: RuntimeSettings | None = None,
        cache: MetadataCache | None = None,
    ) -> None:
        self.settings = settings or GroupSettings()
        self.clock = clock or ManualClock()
        self.log = log or MemoryLog()
        self.cache = cache or cache_with_topics()
        self.timers = ManualTimers(self.clock)
        self.suffixes = itertools.count(1)

        def make_shard(partition: int, timer: Timer) -> GroupShard:
            return GroupShard(partition, timer, self.clock, self.settings, lambda: str(next(self.suffixes)))

        self.runtime = CoordinatorRuntime(
            self.log,
            ShardType(make_shard, GroupRecordSerde()),
            Deadlines(self.clock, self.timers),
            self.new_scheduler(),
            runtime_settings or RuntimeSettings(),
        )
        self.coordinator = GroupCoordinator(self.runtime, self.settings, 1, self.cache)

    async def start(self, leader_epoch: int = 1) -> Bench:
        self.log.lead(PARTITION, leader_epoch)
        self.coordinator.on_elected(PARTITION, leader_epoch)
        await settle()
        return self

    async def fail_over(self, leader_epoch: int) -> Bench:
        """Another broker becomes the coordinator: a new coordinator over the same log."""
        self.coordinator.on_resigned(PARTITION)
        await settle()
        successor = Bench(self.settings, self.log, self.clock, cache=self.cache)
        successor.suffixes = self.suffixes  # member ids are unique across coordinators
        return await successor.start(leader_epoch)

    def delete_topic(self, topic: str) -> None:
        """The controller deletes the topic: its partitions have the leader -2."""
        partitions = self.cache.image.topics[topic].partitions
        states = [Update.UpdateMetadataPartitionState(partition_index=index, leader=-2) for index in partitions]
        topic_state = Update.UpdateMetadataTopicState(topic_name=topic, partition_states=states)
        self.cache.apply_update_metadata(Update(topic_states=[topic_state]))

    def create_topic(self, topic: str, topic_id: bytes) -> None:
        """A topic with partitions 0 and 1 under this name; the image may have another one of the name until now."""
        message = update({1: ["CLIENT"]}, {topic: {0: (1, [1]), 1: (1, [1])}})
        message.topic_states[0].topic_id = topic_id
        self.cache.apply_update_metadata(message)

    @property
    def shard(self) -> GroupShard:
        return self.runtime.active_shards()[0]

    def group(self) -> ClassicGroup:
        """Group g, which must exist."""
        group = self.shard.groups.get("g")
        assert isinstance(group, ClassicGroup)
        return group

    async def pass_time(self, ms: int, step_ms: int = 500) -> None:
        for left in range(ms, 0, -step_ms):
            self.clock.advance(min(step_ms, left))
            self.timers.run_due()
            await settle()

    def logged(self) -> list[tuple[Any, Any]]:
        """Every record in the log, as key and value messages."""
        serde = GroupRecordSerde()
        found = []
        for batch in self.log.batches.get(PARTITION, []):
            for record in decode_records(batch):
                assert record.key is not None
                decoded = serde.decode(record.key, record.value)
                assert decoded is not None
                found.append((decoded.key, decoded.value))
        return found

    def logged_groups(self) -> list[Any]:
        return [value for key, value in self.logged() if isinstance(key, GroupMetadataKey)]

    def logged_offsets(self) -> list[Any]:
        return [value for key, value in self.logged() if isinstance(key, OffsetCommitKey)]

    # --- requests

    def join(self, member_id: str = "", **fields: Any) -> BenchCall:
        version = fields.pop("version", 9)
        protocols = fields.pop("protocols", (("range", subscription("t")),))
        request = JoinGroupRequest(
            group_id=fields.pop("group", "g"),
            member_id=member_id,
            group_instance_id=fields.pop("instance", None),
            session_timeout_ms=fields.pop("session_ms", SESSION_MS),
            rebalance_timeout_ms=fields.pop("rebalance_ms", REBALANCE_MS),
            protocol_type=fields.pop("protocol_type", "consumer"),
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols],
        )
        client = CLIENT._replace(client_id=fields.pop("client", "client"), api_version=version)
        assert not fields, fields
        return BenchCall(self.coordinator.join_group(request, client))

    def sync(self, joined: JoinGroupResponse, assignment: dict[str, bytes] | None = None, **fields: Any) -> BenchCall:
        version = fields.pop("version", 5)
        request = SyncGroupRequest(
            group_id=fields.pop("group", "g"),
            generation_id=fields.pop("generation", joined.generation_id),
            member_id=joined.member_id,
            group_instance_id=fields.pop("instance", None),
            protocol_type=fields.pop("protocol_type", joined.protocol_type),
            protocol_name=fields.pop("protocol_name", joined.protocol_name),
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=data)
                for member_id, data in (assignment or {}).items()
            ],
        )
        assert not fields, fields
        return BenchCall(self.coordinator.sync_group(request, CLIENT._replace(api_version=version)))

    def heartbeat(self, member_id: str, generation: int, group: str = "g", instance: str | None = None) -> int:
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        return int(BenchCall(self.coordinator.heartbeat(request, CLIENT._replace(api_version=4))).response.error_code)

    def leave(self, *members: tuple[str, str | None], group: str = "g", version: int = 5) -> BenchCall:
        request = LeaveGroupRequest(group_id=group)
        if version < 3:
            request.member_id = members[0][0]
        else:
            request.members = [
                LeaveGroupRequest.MemberIdentity(member_id=member_id, group_instance_id=instance)
                for member_id, instance in members
            ]
        return BenchCall(self.coordinator.leave_group(request, CLIENT._replace(api_version=version)))

    def commit(self, offsets: dict[tuple[str, int], int], **fields: Any) -> BenchCall:
        version = fields.pop("version", 9)
        metadata = fields.pop("metadata", "")
        topics: dict[str, OffsetCommitRequest.OffsetCommitRequestTopic] = {}
        for (topic, partition), offset in offsets.items():
            row = topics.setdefault(topic, OffsetCommitRequest.OffsetCommitRequestTopic(name=topic))
            row.partitions.append(
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=metadata
                )
            )
        request = OffsetCommitRequest(
            group_id=fields.pop("group", "g"),
            generation_id_or_member_epoch=fields.pop("generation", -1),
            member_id=fields.pop("member_id", ""),
            group_instance_id=fields.pop("instance", None),
            retention_time_ms=fields.pop("retention_ms", -1),
            topics=list(topics.values()),
        )
        assert not fields, fields
        return BenchCall(self.coordinator.offset_commit(request, CLIENT._replace(api_version=version)))

    def txn_commit(self, offsets: dict[tuple[str, int], int], **fields: Any) -> BenchCall:
        """TxnOffsetCommit of producer 7, epoch 3; by default without member and generation."""
        topics: dict[str, TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = {}
        for (topic, partition), offset in offsets.items():
            row = topics.setdefault(topic, TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic))
            row.partitions.append(
                TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_metadata=fields.get("metadata", ""),
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id="orders",
            group_id=fields.pop("group", "g"),
            producer_id=fields.pop("producer_id", 7),
            producer_epoch=3,
            generation_id_or_member_epoch=fields.pop("generation", -1),
            member_id=fields.pop("member_id", ""),
            topics=list(topics.values()),
        )
        return BenchCall(self.coordinator.txn_offset_commit(request, fields.get("guard")))

    async def end_transaction(self, committed: bool, producer_id: int = 7) -> None:
        """The leader appends the marker of the producer's transaction to the partition and tells the coordinator."""
        await settle()
        marker = Record(key=struct.pack(">hh", 0, committed), value=struct.pack(">hi", 0, 1), timestamp=1)
        header: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 3}
        self.log.append(
            PARTITION,
            self.log.leader_epochs[PARTITION],
            bytearray(encode_batch([marker], control=True, transactional=True, **header)),
        )
        completed = self.coordinator.complete_transaction(PARTITION, producer_id, 3, committed)
        assert completed.result() is Error.NONE

    def stable_offsets(self, group: str = "g") -> dict[tuple[str, int], tuple[int, int]]:
        """Offset and error code by partition, as a client with read_committed sees them."""
        (answer,) = self.fetch_all(group, require_stable=True).response.groups
        return {
            (topic.name, partition.partition_index): (partition.committed_offset, partition.error_code)
            for topic in answer.topics
            for partition in topic.partitions
        }

    def fetch_all(self, group: str = "g", require_stable: bool = False) -> BenchCall:
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None)],
            require_stable=require_stable,
        )
        return BenchCall(self.coordinator.offset_fetch(request, CLIENT._replace(api_version=9)))

    def offsets(self, group: str = "g") -> dict[tuple[str, int], int]:
        """The group's committed offsets, as a client sees them."""
        (answer,) = self.fetch_all(group).response.groups
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in answer.topics
            for partition in topic.partitions
        }

    # --- shortcuts

    async def member(self, **fields: Any) -> str:
        """A dynamic member id, as a client of version 4 and later gets one."""
        rejected = self.join(**fields).response
        await settle()
        return str(rejected.member_id)

    async def stable_group(self, *assignments: bytes, **fields: Any) -> list[JoinGroupResponse]:
        """A group of as many members as there are assignments; the first leads. Returns their join responses."""
        ids = [await self.member(**fields) for _ in assignments]
        joins = [self.join(member_id, **fields) for member_id in ids]
        await self.pass_time(self.settings.initial_rebalance_delay_ms * 3 or 1)
        joined = [pending.response for pending in joins]
        group = fields.get("group", "g")
        syncs: list[BenchCall] = []
        for response in joined:
            given = dict(zip(ids, assignments, strict=True)) if response.leader == response.member_id else None
            syncs.append(self.sync(response, given, group=group))
        await settle()
        answers: list[SyncGroupResponse] = [pending.response for pending in syncs]
        assert [answer.assignment for answer in answers] == list(assignments)
        return joined


class BenchOfSmallSlices(Bench):
    """Loads and sweeps yield at every step, so that requests come in between."""

    new_scheduler = staticmethod(scheduler_of_small_slices)
