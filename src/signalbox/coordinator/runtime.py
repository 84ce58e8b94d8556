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
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from signalbox.common.clock import Clock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.batch_builder import BatchBuilder
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.coordinator_context import ContextTimer, CoordinatorContext, Phase
from signalbox.coordinator.deadlines import Deadlines
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.ports import CoordinatorLog, MakeShard, RecordSerde, Shard
from signalbox.coordinator.promise import Promise
from signalbox.coordinator.slices import run_in_slices
from signalbox.coordinator.write_queue import Batch, WriteQueue
from signalbox.protocol.error_table import Error, KafkaError

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)
R = TypeVar("R")
T = TypeVar("T")


def new_member_suffix() -> str:
    """The unique part of a member id."""
    return str(uuid.uuid4())


def value_or_awaitable(promise: Promise[T]) -> T | Awaitable[T]:
    """For a handler: the value if `promise` is done, else an awaitable of it."""
    return promise.value() if promise.done else _wait(promise)


def _wait(promise: Promise[T]) -> Awaitable[T]:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if future.done():
            return  # the connection was closed and its handler cancelled
        if promise.error is not None:
            future.set_exception(promise.error)
        else:
            future.set_result(promise.value())

    promise.when_done(settle)
    return future


@dataclass(frozen=True, slots=True)
class ShardType(Generic[S]):
    """`make_shard` is called at each election of a partition; `serde` is that of the shard's records."""

    make_shard: MakeShard[S]
    serde: RecordSerde


class CoordinatorRuntime(Generic[S]):
    """Must be used on a running loop, which is that of `scheduler`."""

    def __init__(
        self,
        log: CoordinatorLog,
        shards: ShardType[S],
        clock: Clock,
        scheduler: TaskScheduler,
        settings: RuntimeSettings,
    ) -> None:
        self._log = log
        self._serde = shards.serde
        self._make_shard = shards.make_shard
        self._clock = clock
        self._scheduler = scheduler
        self._settings = settings
        self._builder = BatchBuilder(shards.serde, clock, settings)
        self._contexts: dict[int, CoordinatorContext[S]] = {}
        self._deadlines = Deadlines(clock, asyncio.get_running_loop)
        self._tasks: set[asyncio.Future[None]] = set()
        self._loaded_partitions: list[int] = []  # partitions since the last log message about them
        self._resigned_partitions: list[int] = []

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
            self._log_when_settled()
            loaded.complete(None)

        logger.debug("coordinator partition %d: loading at leader epoch %d", partition, leader_epoch)
        run_in_slices(self._scheduler, context.load(self._log, self._serde, self._settings.load_buffer_bytes), finish)
        return loaded

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload `partition`: this broker is no longer its leader. An epoch older than the context's is ignored."""
        context = self._contexts.get(partition)
        if context is not None and (leader_epoch is None or leader_epoch >= context.leader_epoch):
            del self._contexts[partition]
            self._close(context)

    async def stop(self) -> None:
        """Resign all partitions and wait until the waiting requests are rejected."""
        closed = [self._close(context) for context in self._contexts.values()]
        self._contexts.clear()
        self._deadlines.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for unloaded in closed:
            await _wait(unloaded)

    def _create_context(self, partition: int, leader_epoch: int) -> CoordinatorContext[S]:
        timer = ContextTimer(self._deadlines)
        shard = self._make_shard(partition, timer)
        watch = _Watch(self, partition)
        writes = WriteQueue(self._log, (partition, leader_epoch), self._builder, shard.replay, watch)
        watch.writes = writes
        context = CoordinatorContext(partition, shard, writes, timer)
        self._contexts[partition] = context
        return context

    def _close(self, context: CoordinatorContext[S]) -> Promise[None]:
        if context.phase is Phase.ACTIVE:
            self._resigned_partitions.append(context.partition)
            asyncio.get_running_loop().call_soon(self._log_when_settled)
        unloaded: Promise[None] = Promise()
        context.phase = Phase.CLOSED
        context.writes.close()
        run_in_slices(self._scheduler, context.shard.unload(), lambda: unloaded.complete(None))
        return unloaded

    def _log_when_settled(self) -> None:
        """One log message for all partitions that were loaded or resigned together."""
        if any(context.phase is Phase.LOADING for context in self._contexts.values()):
            return
        for what, partitions in (("no longer", self._resigned_partitions), ("now", self._loaded_partitions)):
            if partitions:
                logger.info("%s coordinating %d partitions: %s", what, len(partitions), sorted(partitions))
                partitions.clear()

    # --- decisions

    def write(self, partition: int, decide: Callable[[S], Decision[R]]) -> Promise[R]:
        """Call `decide` with the shard and write its records. Fails with COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
        the KafkaError that `decide` raises, or the log's error (see `write_errors`)."""
        context = self._contexts.get(partition)
        rejection = Error.NOT_COORDINATOR if context is None else context.rejection
        if context is None or rejection is not Error.NONE:
            return Promise.failed(KafkaError(rejection))
        try:
            decision = decide(context.shard)
        except KafkaError as error:
            return Promise.failed(error)
        return context.writes.submit(decision)

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
                read.complete(now.value())

        context.writes.after_writes().when_done(settle)
        return read

    def fire_due(self) -> None:
        """Run all due deadlines now: for a clock that a test sets."""
        self._deadlines.fire_due()

    def partitions(self) -> list[int]:
        """The partitions that this broker coordinates, including those that are loading."""
        return list(self._contexts)

    def active_shards(self) -> list[S]:
        return [context.shard for context in self._contexts.values() if context.phase is Phase.ACTIVE]

    def sweep(self, work: Callable[[S], Iterator[Decision[None]]]) -> None:
        """Run background work on every active shard, in slices, and write its decisions. No request waits for it."""
        for context in self._contexts.values():
            if context.phase is Phase.ACTIVE:
                run_in_slices(self._scheduler, context.sweep(work(context.shard)))

    def _schedule_maintenance(self, context: CoordinatorContext[S]) -> None:
        def maintenance() -> None:
            if context.phase is Phase.ACTIVE:
                run_in_slices(self._scheduler, context.sweep(context.shard.maintenance()))
                self._schedule_maintenance(context)

        self._deadlines.call_in(self._settings.maintenance_interval_ms, (context, "maintenance"), maintenance)

    # --- the event loop

    def flush_soon(self, writes: WriteQueue) -> None:
        """Flush at the end of this iteration of the loop, or after `append_linger_ms`."""
        loop = asyncio.get_running_loop()
        if self._settings.append_linger_ms > 0:
            loop.call_later(self._settings.append_linger_ms / 1000, writes.flush)
        else:
            loop.call_soon(writes.flush)

    def watch_commit(self, writes: WriteQueue, batch: Batch, committed: Awaitable[None], partition: int) -> None:
        """Call `settle` with the log's result of the batch, or `give_up_waiting` when the commit times out."""

        def settle(future: asyncio.Future[None]) -> None:
            self._tasks.discard(future)
            self._deadlines.cancel_call(batch)
            if not future.cancelled():
                writes.settle(batch, _commit_error(future, partition))

        future = asyncio.ensure_future(committed)
        self._tasks.add(future)
        future.add_done_callback(settle)
        self._deadlines.call_in(self._settings.commit_timeout_ms, batch, lambda: writes.give_up_waiting(batch))


class _Watch:
    """Connects a write queue to the runtime's event loop."""

    writes: WriteQueue

    def __init__(self, runtime: CoordinatorRuntime[S], partition: int) -> None:
        self._flush_soon = runtime.flush_soon
        self._watch_commit = partial(runtime.watch_commit, partition=partition)

    def gathering_began(self) -> None:
        self._flush_soon(self.writes)

    def appended(self, batch: Batch, committed: Awaitable[None]) -> None:
        self._watch_commit(self.writes, batch, committed)


def _commit_error(future: asyncio.Future[None], partition: int) -> Error:
    error = future.exception()
    if error is None:
        return Error.NONE
    if isinstance(error, KafkaError):
        return error.error
    logger.error("Unexpected error writing group metadata of partition %d", partition, exc_info=error)
    return Error.UNKNOWN_SERVER_ERROR
