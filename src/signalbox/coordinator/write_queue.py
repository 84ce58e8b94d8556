"""The writes of one partition: gathers decisions, appends their records, waits for the commit, replays, responds.

Decisions of one iteration of the event loop share a batch: a hundred consumers that commit at once cost one append. If
a batch cannot be appended, all its decisions fail and no state changes. Batches are completed in the order of the log:
the records are replayed, then decision by decision the effects run and the response is sent. When a commit times out,
the response is an error, but the batch is in the log: it is replayed and its effects run when it commits later, but not
if leadership is lost first.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.batch_builder import BatchBuilder, Piece
from signalbox.coordinator.decision import CoordinatorRecord, Decision, R
from signalbox.coordinator.ports import CoordinatorLog
from signalbox.coordinator.write_errors import WRITTEN_DESPITE_ERROR
from signalbox.protocol.codec_errors import EncodeError, StringTooLong
from signalbox.protocol.error_table import Error, KafkaError

logger = logging.getLogger(__name__)


class Write:
    """A decision that is being written. Its records may be in several batches; the first error counts."""

    __slots__ = ("batches_left", "decision", "error", "promise")

    def __init__(self, decision: Decision[Any], batches: int) -> None:
        self.decision = decision
        self.promise: Promise[Any] = Promise()
        self.batches_left = batches
        self.error = Error.NONE

    def commit(self) -> None:
        """The records are committed and replayed: run the effects, then complete the response unless it timed out."""
        for effect in self.decision.effects:
            try:
                effect()
            except Exception:
                logger.exception("Unexpected error in an effect of a coordinator's decision")
        if not self.promise.is_done:
            self.promise.complete(self.decision.response)

    def conclude(self) -> None:
        """The log's result of the last batch is known, or there is none."""
        if self.decision.on_concluded is not None:
            self.decision.on_concluded()

    def fail(self, error: Error) -> None:
        """Call `on_failure`, then fail the response; only the first call has an effect."""
        if self.promise.is_done:
            return
        if self.decision.on_failure is not None:
            self.decision.on_failure(error)
        self.promise.fail(KafkaError(error))


@dataclass(slots=True, eq=False)
class Batch:
    """`parts`: the records of each decision. `producer` and `guard`: those of their transaction, if they have one.
    `error` is the log's result, None before that."""

    parts: list[tuple[Write, Piece]] = field(default_factory=list)
    followers: list[Promise[None]] = field(default_factory=list)
    size_bytes: int = 0
    producer: tuple[int, int] | None = None
    guard: object | None = None
    error: Error | None = None

    def is_for(self, decision: Decision[Any]) -> bool:
        """Whether the records of `decision` may be in this batch."""
        return self.producer == decision.producer and self.guard is decision.guard


class WriteWatch(Protocol):
    """Port to the event loop."""

    def gathering_began(self) -> None:
        """A new batch has its first records: `flush` must be called soon."""
        ...

    def appended(self, batch: Batch, committed: Promise[None]) -> None:
        """A batch is in the log: call `settle` when `committed` is done; on a timeout call `give_up_waiting`."""
        ...


class WriteQueue:
    """`place` = partition and leader epoch. `leader_epoch` is updated if the leader stays and its epoch rises."""

    def __init__(
        self,
        log: CoordinatorLog,
        place: tuple[int, int],
        builder: BatchBuilder,
        replay: Callable[[CoordinatorRecord], None],
        watch: WriteWatch,
    ) -> None:
        self._log = log
        self._partition, self.leader_epoch = place
        self._builder = builder
        self._replay = replay
        self._watch = watch
        self._gathering: Batch | None = None
        self._in_flight: deque[Batch] = deque()
        self._closed = False

    def submit(self, decision: Decision[R]) -> Promise[R]:
        """The response of `decision`: at once if it has no records, else when they are committed. Fails with the
        log's error, or with UNKNOWN_SERVER_ERROR if a record cannot contain a client's value."""
        try:
            pieces = self._builder.pieces(decision.records, decision.atomic) if decision.records else []
        except EncodeError as error:
            if not isinstance(error, StringTooLong):
                logger.exception("Unexpected error in the records of a coordinator's decision")
            rejected = Write(decision, 0)
            rejected.conclude()
            rejected.fail(Error.UNKNOWN_SERVER_ERROR)
            return rejected.promise
        write = Write(decision, len(pieces))
        if self._closed:
            write.conclude()
            write.fail(Error.NOT_COORDINATOR)
        elif not pieces:
            write.conclude()
            write.commit()
        else:
            for piece in pieces:
                self._gather(write, piece)
        return write.promise

    def after_writes(self) -> Promise[None]:
        """Done when everything submitted so far is complete."""
        last = self._gathering or (self._in_flight[-1] if self._in_flight else None)
        if last is None:
            return Promise.of(None)
        follower: Promise[None] = Promise()
        last.followers.append(follower)
        return follower

    def _gather(self, write: Write, piece: Piece) -> None:
        gathering, decision = self._gathering, write.decision
        if gathering is not None and not (
            gathering.is_for(decision) and self._builder.fits(gathering.size_bytes, piece.size_bytes)
        ):
            self.flush()
        if self._gathering is None:
            self._gathering = Batch(producer=decision.producer, guard=decision.guard)
            self._watch.gathering_began()
        self._gathering.parts.append((write, piece))
        self._gathering.size_bytes += piece.size_bytes

    def flush(self) -> None:
        """Append the gathered batch."""
        batch, self._gathering = self._gathering, None
        if batch is None:
            return
        encoded = [record for _, piece in batch.parts for record in piece.encoded]
        try:
            records = self._builder.batch(encoded, self.leader_epoch, batch.producer)
            committed = self._log.append(self._partition, self.leader_epoch, records, batch.guard)
        except KafkaError as rejection:
            if self._in_flight:  # what waits for all earlier writes waits for the last of them
                self._in_flight[-1].followers += batch.followers
                batch.followers = []
            self._conclude(batch, rejection.error)
            return
        self._in_flight.append(batch)
        self._watch.appended(batch, committed)

    def settle(self, batch: Batch, error: Error) -> None:
        """Set the log's result of `batch`; complete batches in the order of the log, as far as results are known."""
        batch.error = error
        while self._in_flight and self._in_flight[0].error is not None:
            first = self._in_flight.popleft()
            self._conclude(first, first.error or Error.NONE)

    def give_up_waiting(self, batch: Batch) -> None:
        """The commit timed out: return REQUEST_TIMED_OUT to the clients; the batch stays in flight."""
        if batch in self._in_flight:
            for write, _ in batch.parts:
                write.fail(Error.REQUEST_TIMED_OUT)

    def close(self) -> None:
        """Leadership is lost: fail everything in flight with NOT_COORDINATOR."""
        self._closed = True
        unfinished = [*self._in_flight, *([self._gathering] if self._gathering else [])]
        self._in_flight.clear()
        self._gathering = None
        for batch in unfinished:
            self._conclude(batch, Error.NOT_COORDINATOR)

    def _conclude(self, batch: Batch, error: Error) -> None:
        if error is Error.NONE or error in WRITTEN_DESPITE_ERROR:
            for write, piece in batch.parts:
                for record in piece.records if write.decision.replayed else ():
                    self._replay(record)
        for write, _ in batch.parts:
            write.batches_left -= 1
            if write.error is Error.NONE:
                write.error = error
            if write.batches_left:
                continue
            write.conclude()
            if write.error is Error.NONE:
                write.commit()
            else:
                write.fail(write.error)
        for follower in batch.followers:
            follower.complete(None)
