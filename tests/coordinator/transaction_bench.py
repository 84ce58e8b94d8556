"""A transaction coordinator on a manual clock, over a log in memory and channels that the test answers."""

from __future__ import annotations

import itertools
from typing import Any

from tests.broker.handler_requests import update
from tests.common.waiting.manual_time import ManualTimers
from tests.coordinator.bench import BenchCall, scheduler_of_one_slice, settle
from tests.coordinator.memory_log import MemoryLog
from tests.coordinator.transaction.markers.test_marker_sender import Channels, SenderBench
from tests.coordinator.transaction.shards import NAME, TIMEOUT_MS

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.config_rows import RuntimeSettings, TransactionSettings
from signalbox.coordinator.ports import Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType
from signalbox.coordinator.transaction.markers.marker_sender import MarkerSender
from signalbox.coordinator.transaction.transaction_records import TransactionRecordSerde
from signalbox.coordinator.transaction.transaction_shard import TransactionShard
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.messages.end_txn import EndTxnRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.records.record_batch import decode_records

PARTITION = 0
T0 = TopicPartition("t", 0)
SWEEP_MS = 10_000


class CountedProducerIds:
    """Producer ids from 1000 on; those that are held wait for `release`."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1_000)
        self.held: list[Promise[int]] = []
        self.holds = False

    def next(self) -> Promise[int]:
        if not self.holds:
            return Promise.of(next(self._numbers))
        promise: Promise[int] = Promise()
        self.held.append(promise)
        return promise


class TransactionBench:
    def __init__(
        self,
        log: MemoryLog | None = None,
        clock: ManualClock | None = None,
        level: int = 2,
        scheduler: TaskScheduler | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.log = log or MemoryLog()
        self.log.topic = "__transaction_state"
        self.timers = ManualTimers(self.clock)
        self.deadlines = Deadlines(self.clock, self.timers)
        self.cache = MetadataCache()
        self.cache.apply_update_metadata(update({1: ["CLIENT"]}, {"t": {0: (1, [1]), 1: (1, [1])}}))
        self.producer_ids = CountedProducerIds()
        self.channels = Channels()
        self.level = level
        settings = TransactionSettings(partition_count=1)

        def make_shard(partition: int, timer: Timer) -> TransactionShard:
            return TransactionShard(
                timer,
                self.clock,
                settings,
                lambda: self.level,
                lambda entry: self.coordinator.send_markers(partition, entry),
            )

        self.runtime = CoordinatorRuntime(
            self.log,
            ShardType(make_shard, TransactionRecordSerde(lambda: self.level)),
            self.deadlines,
            scheduler or scheduler_of_one_slice(),
            RuntimeSettings(),
        )
        markers = MarkerSender(self.channels, self.channels, self._leader_of, self.deadlines)
        self.coordinator = TransactionCoordinator(self.runtime, markers, self.producer_ids, settings, self.cache)
        self.coordinator.abort_timed_out_every(SWEEP_MS, self.deadlines)

    def _leader_of(self, partition: TopicPartition) -> int | None:
        leader = self.cache.leader_of(partition)
        return None if leader is None else leader[0]

    async def start(self, leader_epoch: int = 1) -> TransactionBench:
        self.log.lead(PARTITION, leader_epoch)
        self.coordinator.on_elected(PARTITION, leader_epoch)
        await settle()
        return self

    async def fail_over(self, leader_epoch: int) -> TransactionBench:
        """Another broker becomes the coordinator: a new coordinator over the same log."""
        self.coordinator.on_resigned(PARTITION)
        await settle()
        return await TransactionBench(self.log, self.clock, self.level).start(leader_epoch)

    async def pass_time(self, ms: int, step_ms: int = 500) -> None:
        for left in range(ms, 0, -step_ms):
            self.clock.advance(min(step_ms, left))
            self.timers.run_due()
            await settle()

    def states(self) -> list[str]:
        """The states in the log, in order."""
        serde = TransactionRecordSerde(lambda: self.level)
        states = []
        for batch in self.log.batches.get(PARTITION, []):
            for record in decode_records(batch):
                decoded = serde.decode(record.key or b"", record.value)
                assert decoded is not None
                states.append("tombstone" if decoded.value is None else decoded.value.state.value)
        return states

    # --- requests

    def init(self, timeout_ms: int = TIMEOUT_MS, name: str = NAME) -> BenchCall:
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms)
        return BenchCall(self.coordinator.init_producer_id(request))

    async def producer(self) -> tuple[int, int]:
        """The producer id and epoch of a new producer."""
        call = self.init()
        await settle()
        assert call.response.error_code == 0
        return call.response.producer_id, call.response.producer_epoch

    def add(self, producer: tuple[int, int], *partitions: TopicPartition, version: int = 2) -> BenchCall:
        return BenchCall(self.coordinator.add_partitions(NAME, producer, partitions or (T0,), version))

    def end(self, producer: tuple[int, int], committed: bool = True, version: int = 2) -> BenchCall:
        request = EndTxnRequest(
            transactional_id=NAME, producer_id=producer[0], producer_epoch=producer[1], committed=committed
        )
        return BenchCall(self.coordinator.end_txn(request, version))

    def describe(self, name: str = NAME) -> Any:
        return BenchCall(self.coordinator.describe_transaction(name)).response

    def markers_in_flight(self) -> list[tuple[int, int, bool, int]]:
        """Producer id and epoch, commit and coordinator epoch of the markers that wait for a response."""
        return [
            (marker.producer_id, marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch)
            for _, request, _ in self.channels.requests
            for marker in request.markers
        ]

    async def answer_markers(self) -> None:
        SenderBench.respond(self)  # type: ignore[arg-type]
        await settle()
