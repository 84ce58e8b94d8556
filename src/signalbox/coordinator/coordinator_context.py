"""The coordinator context: a partition of the internal topic that this broker leads, with shard, writes, deadlines.

A context is loading, then active, until it is closed; if the partition cannot be read, it is failed until the next
election. While it loads, clients get COORDINATOR_LOAD_IN_PROGRESS (retry); when it failed, NOT_COORDINATOR.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Generic, TypeVar

from signalbox.common.ids import TopicPartition
from signalbox.common.log_limiter import TransitionLog
from signalbox.common.waiting.deadlines import Deadline, Deadlines
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.loading import load_steps
from signalbox.coordinator.ports import CoordinatorLog, RecordSerde, Shard
from signalbox.coordinator.write_queue import WriteQueue
from signalbox.protocol.error_table import Error

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)


class Phase(Enum):
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    CLOSED = auto()


REJECTION: dict[Phase, Error] = {
    Phase.LOADING: Error.COORDINATOR_LOAD_IN_PROGRESS,
    Phase.ACTIVE: Error.NONE,
    Phase.FAILED: Error.NOT_COORDINATOR,
    Phase.CLOSED: Error.NOT_COORDINATOR,
}


class ContextTimer:
    """The shard's timer: a deadline runs a decision and writes its records, while the context is active."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._by_key: dict[Hashable, Deadline] = {}
        self.run: Callable[[Callable[[], Decision[None]]], None] = lambda decide: None

    def schedule(self, key: Hashable, delay_ms: int, decide: Callable[[], Decision[None]]) -> None:
        expire = partial(self._expire, key, decide)
        deadline = self._by_key.get(key)
        if deadline is None:
            self._by_key[key] = self._deadlines.add(delay_ms, expire)
        else:
            deadline.restart(delay_ms, expire)

    def cancel(self, key: Hashable) -> None:
        deadline = self._by_key.pop(key, None)
        if deadline is not None:
            deadline.cancel()

    def _expire(self, key: Hashable, decide: Callable[[], Decision[None]]) -> None:
        del self._by_key[key]
        self.run(decide)


class CoordinatorContext(Generic[S]):
    def __init__(self, topic_partition: TopicPartition, shard: S, writes: WriteQueue, timer: ContextTimer) -> None:
        self.topic_partition = topic_partition
        self.phase = Phase.LOADING
        self.shard = shard
        self.writes = writes
        self._background_log = TransitionLog(logger)
        timer.run = self._run_deadline

    @property
    def rejection(self) -> Error:
        """The error for a request; NONE if it is accepted."""
        return REJECTION[self.phase]

    @property
    def leader_epoch(self) -> int:
        return self.writes.leader_epoch

    def update_epoch(self, leader_epoch: int) -> None:
        """A newer epoch of the same leader: the state is kept, later writes have it. Older epochs are ignored."""
        self.writes.leader_epoch = max(leader_epoch, self.writes.leader_epoch)

    def load(self, log: CoordinatorLog, serde: RecordSerde, buffer_bytes: int) -> Iterator[None]:
        """Read and replay the partition step by step; at the end the context is active or failed."""
        try:
            yield from self._load_while_loading(log, serde, buffer_bytes)
        except Exception:
            logger.exception(
                "Coordinator state of %s could not be loaded: its groups or transactions have no coordinator",
                self.topic_partition,
            )
            self.phase = Phase.FAILED if self.phase is Phase.LOADING else self.phase
            return
        if self.phase is Phase.LOADING:
            logger.debug("coordinator of %s: active at leader epoch %d", self.topic_partition, self.leader_epoch)
            self.phase = Phase.ACTIVE

    def _load_while_loading(self, log: CoordinatorLog, serde: RecordSerde, buffer_bytes: int) -> Iterator[None]:
        if self.phase is not Phase.LOADING:
            return  # resigned before the first step
        for steps in (
            load_steps(log, self.topic_partition.partition, serde, self.shard.replay, buffer_bytes),
            self.shard.finish_loading(),
        ):
            for _ in steps:
                yield
                if self.phase is not Phase.LOADING:
                    return

    def sweep(self, decisions: Iterator[Decision[None]]) -> Iterator[None]:
        """Write background decisions one by one while the context is active."""
        while self.phase is Phase.ACTIVE:
            decision = next(decisions, None)
            if decision is None:
                return
            self.submit_background(decision)
            yield

    def _run_deadline(self, decide: Callable[[], Decision[None]]) -> None:
        if self.phase is Phase.ACTIVE:
            self.submit_background(decide())

    def submit_background(self, decision: Decision[None]) -> None:
        """Write a decision that has no request. A failure is logged, and not again until a write succeeds or fails for
        another reason: a sweep may have very many decisions."""
        if not decision.records and not decision.effects:
            return
        promise = self.writes.submit(decision)

        def report() -> None:
            if promise.error is None:
                self._background_log.recovered()
            elif self.phase is Phase.ACTIVE:
                self._background_log.failed(
                    f"Coordinator records of {self.topic_partition} not written: {promise.error}"
                )

        promise.when_done(report)
