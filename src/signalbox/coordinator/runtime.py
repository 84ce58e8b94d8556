"""The coordinator runtime: creates and removes shards as leadership changes, runs deadlines, and uses asyncio.

A shard is the state of one partition of an internal topic; it exists on the partition's leader. On election the
partition is read and replayed in slices (COORDINATOR_LOAD_IN_PROGRESS until that is done); on resignation all waiting
requests are rejected (NOT_COORDINATOR). In between, `write` takes decisions and appends their records, `read` reads
the state. Everything runs on one event loop; this is the only file of the package that uses asyncio.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from signalbox.common.ids import TopicPartition, partition_count, partition_list
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.common.waiting.promise import Promise, gather
from signalbox.coordinator.batch_builder import BatchBuilder
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.coordinator_context import ContextTimer, CoordinatorContext, Phase
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.loading import run_in_slices
from signalbox.coordinator.ports import CoordinatorLog, MakeShard, RecordSerde, Shard
from signalbox.coordinator.write_queue import Batch, WriteQueue
from signalbox.protocol.error_table import Error, KafkaError

logger = logging.getLogger(__name__)
_LOG_AFTER_S = 0.5

S = TypeVar("S", bound=Shard)
R = TypeVar("R")


def new_member_suffix() -> str:
    """The unique part of a member id."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class ShardType(Generic[S]):
    """`make_shard` is called at each election of a partition; `serde` is that of the shard's records."""

    make_shard: MakeShard[S]
    serde: RecordSerde


class CoordinatorRuntime(Generic[S]):
    """Must be used on a running loop, which is that of `scheduler`. The owner of `deadlines` closes them after
    `stop`."""

    def __init__(
        self,
        log: CoordinatorLog,
        shards: ShardType[S],
        deadlines: Deadlines,
        scheduler: TaskScheduler,
        settings: RuntimeSettings,
    ) -> None:
        self._log = log
        self._serde = shards.serde
        self._make_shard = shards.make_shard
        self._scheduler = scheduler
        self._settings = settings
        self._builder = BatchBuilder(shards.serde, deadlines.clock, settings)
        self._contexts: dict[int, CoordinatorContext[S]] = {}
        self._deadlines = deadlines
        self._loaded_partitions: list[int] = []  # partitions since the last log message about them
        self._resigned_partitions: list[int] = []
        self._log_handle: asyncio.TimerHandle | None = None

    # --- leadership

    def on_elected(self, partition: int, leader_epoch: int) -> Promise[None]:
        """Load `partition`, which this broker leads now. Done when it is active or could not be loaded; at once if
        this broker was its leader before and only the epoch is newer: no other broker has written meanwhile."""
        context = self._contexts.get(partition)
        if context is not None and (context.phase is not Phase.FAILED or context.leader_epoch >= leader_epoch):
            context.update_epoch(leader_epoch)
            return Promise.of(None)
        context = self._create_context(partition, leader_epoch)
        loaded: Promise[None] = Promise()

        def finish() -> None:
            if context.phase is Phase.ACTIVE:
                self._schedule_maintenance(context)
                self._loaded_partitions.append(partition)
            self._log_soon()
            loaded.complete(None)

        logger.debug("coordinator of %s-%d: loading at leader epoch %d", self._log.topic, partition, leader_epoch)
        run_in_slices(self._scheduler, context.load(self._log, self._serde, self._settings.load_buffer_bytes), finish)
        return loaded

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload `partition`: this broker is no longer its leader. An epoch older than the context's is ignored."""
        context = self._contexts.get(partition)
        if context is not None and (leader_epoch is None or leader_epoch >= context.leader_epoch):
            del self._contexts[partition]
            self._close(context)

    def stop(self) -> Promise[None]:
        """Resign all partitions; done when the waiting requests are rejected."""
        closed = [self._close(context) for context in self._contexts.values()]
        self._contexts.clear()
        return gather(closed).map(lambda _: None)

    def _create_context(self, partition: int, leader_epoch: int) -> CoordinatorContext[S]:
        timer = ContextTimer(self._deadlines)
        shard = self._make_shard(partition, timer)
        watch = _Watch(self, partition)
        writes = WriteQueue(self._log, (partition, leader_epoch), self._builder, shard.replay, watch)
        watch.writes = writes
        context = CoordinatorContext(TopicPartition(self._log.topic, partition), shard, writes, timer)
        self._contexts[partition] = context
        return context

    def _close(self, context: CoordinatorContext[S]) -> Promise[None]:
        if context.phase is Phase.ACTIVE:
            self._resigned_partitions.append(context.topic_partition.partition)
            self._log_soon()
        unloaded: Promise[None] = Promise()
        context.phase = Phase.CLOSED
        context.writes.close()
        run_in_slices(self._scheduler, context.shard.unload(), lambda: unloaded.complete(None))
        return unloaded

    def _log_soon(self) -> None:
        """One log message for all partitions that are loaded or resigned together: the controller elects the leaders of
        a failed broker one after the other, within some milliseconds."""
        if self._log_handle is None:
            self._log_handle = asyncio.get_running_loop().call_later(_LOG_AFTER_S, self._log_changes)

    def _log_changes(self) -> None:
        self._log_handle = None
        for what, partitions in (("Resigned as", self._resigned_partitions), ("Became", self._loaded_partitions)):
            if partitions:
                names = partition_list(TopicPartition(self._log.topic, number) for number in partitions)
                logger.info("%s coordinator for %s: %s", what, partition_count(partitions), names)
                partitions.clear()

    # --- decisions

    def rejection(self, partition: int) -> Error:
        """The error with which requests for `partition` are rejected now: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS
        or NONE."""
        context = self._contexts.get(partition)
        return Error.NOT_COORDINATOR if context is None else context.rejection

    def start_verification(self, partition: int, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        """The guard for a write in the producer's transaction (`CoordinatorLog.start_verification`). Raises KafkaError
        as `write` fails."""
        rejection = self.rejection(partition)
        if rejection is not Error.NONE:
            raise KafkaError(rejection)
        return self._log.start_verification(partition, producer, raises_epochs=raises_epochs)

    def abandon_verification(self, partition: int, producer_id: int, guard: object) -> None:
        """The coordinator of the transaction has rejected for good what `guard` was taken for."""
        if self.rejection(partition) is Error.NONE:
            self._log.abandon_verification(partition, producer_id, guard)

    def write(self, partition: int, decide: Callable[[S], Decision[R]]) -> Promise[R]:
        """Call `decide` with the shard and write its records. Fails with COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
        the KafkaError that `decide` raises, or the log's error (see `write_errors`)."""
        context, rejection = self._contexts.get(partition), self.rejection(partition)
        if context is None or rejection is not Error.NONE:
            return Promise.failed(KafkaError(rejection))
        try:
            decision = decide(context.shard)
        except KafkaError as error:
            return Promise.failed(error)
        return context.writes.submit(decision)

    def write_background(self, partition: int, decide: Callable[[S], Decision[None]]) -> None:
        """As `write`, for a decision that has no request: a failure is logged."""
        context = self._contexts.get(partition)
        if context is not None and context.phase is Phase.ACTIVE:
            context.submit_background(decide(context.shard))

    def read(self, partition: int, query: Callable[[S], R]) -> Promise[R]:
        """The result of `query` on the shard's committed state."""
        return self.write(partition, lambda shard: Decision(query(shard)))

    def read_after_writes(self, partition: int, query: Callable[[S], R]) -> Promise[R]:
        """As `read`, after all earlier writes are complete."""
        context = self._contexts.get(partition)
        if context is None or context.phase is not Phase.ACTIVE:
            return self.read(partition, query)
        read: Promise[R] = Promise()

        def settle() -> None:
            now = self.read(partition, query)
            if now.error is not None:
                read.fail(now.error)
            else:
                read.complete(now.result())

        context.writes.after_writes().when_done(settle)
        return read

    def partitions(self) -> list[int]:
        """The partitions that this broker coordinates, including those that are loading."""
        return list(self._contexts)

    def leader_epoch(self, partition: int) -> int:
        """The leader epoch at which this broker coordinates `partition`; -1 if it does not."""
        context = self._contexts.get(partition)
        return -1 if context is None else context.leader_epoch

    def active_shards(self) -> list[S]:
        return [context.shard for context in self._contexts.values() if context.phase is Phase.ACTIVE]

    def shards(self) -> dict[int, S]:
        """The shards of the partitions that this broker coordinates, including those that are loading."""
        return {partition: context.shard for partition, context in self._contexts.items()}

    def sweep(self, partition: int, work: Callable[[S], Iterator[Decision[None]]]) -> None:
        """Run background work on the shard of `partition` if it is active, in slices, and write its decisions. No
        request waits for it."""
        context = self._contexts.get(partition)
        if context is not None and context.phase is Phase.ACTIVE:
            run_in_slices(self._scheduler, context.sweep(work(context.shard)))

    def _schedule_maintenance(self, context: CoordinatorContext[S]) -> None:
        def maintenance() -> None:
            if context.phase is Phase.ACTIVE:
                run_in_slices(self._scheduler, context.sweep(context.shard.maintenance()))
                self._schedule_maintenance(context)

        self._deadlines.add(self._settings.maintenance_interval_ms, maintenance)

    # --- the event loop

    def flush_soon(self, writes: WriteQueue) -> None:
        """Flush at the end of this iteration of the loop, or after `append_linger_ms`."""
        loop = asyncio.get_running_loop()
        if self._settings.append_linger_ms > 0:
            loop.call_later(self._settings.append_linger_ms / 1000, writes.flush)
        else:
            loop.call_soon(writes.flush)

    def watch_commit(self, writes: WriteQueue, batch: Batch, committed: Promise[None], partition: int) -> None:
        """Call `settle` with the log's result of the batch, or `give_up_waiting` when the commit times out."""
        loop = asyncio.get_running_loop()
        deadline = self._deadlines.add(self._settings.commit_timeout_ms, lambda: writes.give_up_waiting(batch))

        def settle() -> None:
            deadline.cancel()
            writes.settle(batch, self._commit_error(committed, partition))

        # Not at once: the commit is observed in the middle of an append or of a follower's fetch.
        committed.when_done(lambda: loop.call_soon(settle))

    def _commit_error(self, committed: Promise[None], partition: int) -> Error:
        error = committed.error
        if error is None:
            return Error.NONE
        if isinstance(error, KafkaError):
            return error.error
        logger.error(
            "Unexpected error writing coordinator records of %s-%d", self._log.topic, partition, exc_info=error
        )
        return Error.UNKNOWN_SERVER_ERROR


class _Watch:
    """Connects a write queue to the runtime's event loop."""

    writes: WriteQueue

    def __init__(self, runtime: CoordinatorRuntime[S], partition: int) -> None:
        self._flush_soon = runtime.flush_soon
        self._watch_commit = partial(runtime.watch_commit, partition=partition)

    def gathering_began(self) -> None:
        self._flush_soon(self.writes)

    def appended(self, batch: Batch, committed: Promise[None]) -> None:
        self._watch_commit(self.writes, batch, committed)
