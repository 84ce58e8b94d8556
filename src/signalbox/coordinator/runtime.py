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
from functools import partial
from typing import Generic, TypeVar

from signalbox.common.clock import Clock
from signalbox.coordinator.answer import Answer
from signalbox.coordinator.batch_builder import BatchBuilder
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.coordinator_context import ContextTimer, CoordinatorContext, Phase
from signalbox.coordinator.deadlines import Deadlines
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.ports import CoordinatorLog, MakeShard, RecordSerde, Shard
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


def reply(answer: Answer[T]) -> T | Awaitable[T]:
    """For a handler: the value if `answer` is done, else an awaitable of it."""
    return answer.value() if answer.done else _wait(answer)


def _wait(answer: Answer[T]) -> Awaitable[T]:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if future.done():
            return  # the connection was closed and its handler cancelled
        if answer.error is not None:
            future.set_exception(answer.error)
        else:
            future.set_result(answer.value())

    answer.when_done(settle)
    return future


class CoordinatorRuntime(Generic[S]):
    """Must be used on a running loop. `make_shard` is called at each election of a partition."""

    def __init__(
        self,
        log: CoordinatorLog,
        serde: RecordSerde,
        make_shard: MakeShard[S],
        clock: Clock,
        settings: RuntimeSettings,
    ) -> None:
        self._log = log
        self._serde = serde
        self._make_shard = make_shard
        self._clock = clock
        self._settings = settings
        self._builder = BatchBuilder(serde, clock, settings)
        self._seats: dict[int, CoordinatorContext[S]] = {}
        self._deadlines = Deadlines(clock, asyncio.get_running_loop)
        self._tasks: set[asyncio.Future[None]] = set()
        self._came: list[int] = []  # partitions since the last log message about them
        self._went: list[int] = []

    # --- leadership

    def on_elected(self, partition: int, leader_epoch: int) -> Answer[None]:
        """Load `partition`, which this broker leads now. Done when it is active or could not be loaded; at once if
        this broker was its leader before and only the epoch is newer: no other broker has written meanwhile."""
        seat = self._seats.get(partition)
        if seat is not None and (seat.phase is not Phase.FAILED or seat.leader_epoch >= leader_epoch):
            seat.lead_on(leader_epoch)
            return Answer.of(None)
        seat = self._take_seat(partition, leader_epoch)
        loaded: Answer[None] = Answer()

        def finish() -> None:
            if seat.phase is Phase.ACTIVE:
                self._schedule_chores(seat)
                self._came.append(partition)
            self._tell_when_quiet()
            loaded.complete(None)

        logger.debug("coordinator partition %d: loading at leader epoch %d", partition, leader_epoch)
        run_in_slices(
            asyncio.get_running_loop, seat.load(self._log, self._serde, self._settings.load_buffer_bytes), finish
        )
        return loaded

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload `partition`: this broker is no longer its leader. An epoch older than the context's is ignored."""
        seat = self._seats.get(partition)
        if seat is not None and (leader_epoch is None or leader_epoch >= seat.leader_epoch):
            del self._seats[partition]
            self._close(seat)

    async def stop(self) -> None:
        """Resign all partitions and wait until the waiting requests are rejected."""
        closed = [self._close(seat) for seat in self._seats.values()]
        self._seats.clear()
        self._deadlines.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for unloaded in closed:
            await _wait(unloaded)

    def _take_seat(self, partition: int, leader_epoch: int) -> CoordinatorContext[S]:
        timer = ContextTimer(self._deadlines)
        shard = self._make_shard(partition, timer)
        watch = _Watch(self, partition)
        writes = WriteQueue(self._log, (partition, leader_epoch), self._builder, shard.replay, watch)
        watch.writes = writes
        seat = CoordinatorContext(partition, shard, writes, timer)
        self._seats[partition] = seat
        return seat

    def _close(self, seat: CoordinatorContext[S]) -> Answer[None]:
        if seat.phase is Phase.ACTIVE:
            self._went.append(seat.partition)
            asyncio.get_running_loop().call_soon(self._tell_when_quiet)
        unloaded: Answer[None] = Answer()
        seat.phase = Phase.CLOSED
        seat.writes.close()
        run_in_slices(asyncio.get_running_loop, seat.shard.unload(), lambda: unloaded.complete(None))
        return unloaded

    def _tell_when_quiet(self) -> None:
        """One log message for all partitions that were loaded or resigned together."""
        if any(seat.phase is Phase.LOADING for seat in self._seats.values()):
            return
        for what, partitions in (("no longer", self._went), ("now", self._came)):
            if partitions:
                logger.info("%s coordinating %d partitions: %s", what, len(partitions), sorted(partitions))
                partitions.clear()

    # --- decisions

    def write(self, partition: int, decide: Callable[[S], Decision[R]]) -> Answer[R]:
        """Call `decide` with the shard and write its records. Fails with COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
        the KafkaError that `decide` raises, or the log's error (see `write_errors`)."""
        seat = self._seats.get(partition)
        rejection = Error.NOT_COORDINATOR if seat is None else seat.rejection
        if seat is None or rejection is not Error.NONE:
            return Answer.failed(KafkaError(rejection))
        try:
            decision = decide(seat.shard)
        except KafkaError as error:
            return Answer.failed(error)
        return seat.writes.submit(decision)

    def read(self, partition: int, look: Callable[[S], R]) -> Answer[R]:
        """The result of `look` on the shard's committed state."""
        return self.write(partition, lambda shard: Decision(look(shard)))

    def read_after_writes(self, partition: int, look: Callable[[S], R]) -> Answer[R]:
        """As `read`, after all earlier writes are complete."""
        seat = self._seats.get(partition)
        if seat is None or seat.phase is not Phase.ACTIVE:
            return self.read(partition, look)
        read: Answer[R] = Answer()

        def settle() -> None:
            now = self.read(partition, look)
            if now.error is not None:
                read.fail(now.error)
            else:
                read.complete(now.value())

        seat.writes.after_writes().when_done(settle)
        return read

    def fire_due(self) -> None:
        """Run all due deadlines now: for a clock that a test sets."""
        self._deadlines.fire_due()

    def partitions(self) -> list[int]:
        """The partitions that this broker coordinates, including those that are loading."""
        return list(self._seats)

    def active_shards(self) -> list[S]:
        return [seat.shard for seat in self._seats.values() if seat.phase is Phase.ACTIVE]

    def sweep(self, work: Callable[[S], Iterator[Decision[None]]]) -> None:
        """Run background work on every active shard, in slices, and write its decisions. No request waits for it."""
        for seat in self._seats.values():
            if seat.phase is Phase.ACTIVE:
                run_in_slices(asyncio.get_running_loop, seat.sweep(work(seat.shard)))

    def _schedule_chores(self, seat: CoordinatorContext[S]) -> None:
        def chores() -> None:
            if seat.phase is Phase.ACTIVE:
                run_in_slices(asyncio.get_running_loop, seat.sweep(seat.shard.chores()))
                self._schedule_chores(seat)

        self._deadlines.call_in(self._settings.chore_interval_ms, (seat, "chores"), chores)

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
                writes.settle(batch, _outcome(future, partition))

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


def _outcome(future: asyncio.Future[None], partition: int) -> Error:
    error = future.exception()
    if error is None:
        return Error.NONE
    if isinstance(error, KafkaError):
        return error.error
    logger.error("Unexpected error writing group metadata of partition %d", partition, exc_info=error)
    return Error.UNKNOWN_SERVER_ERROR
