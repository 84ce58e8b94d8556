"""One turn of the controller: everything that waits is decided in order, and all of it is stored by one commit (by
several where the store takes no more at once).

Each decision sees what those before it decided. When the commit is refused nothing of the turn has happened: no
context, no request to a broker, no answer leaves this file before it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

from signalbox.common.long_work import breathe
from signalbox.controller.context import ControllerContext
from signalbox.controller.control_batch import ControlBatch
from signalbox.controller.decision import Decision
from signalbox.controller.leader_writes import StatesMoved, moved_by
from signalbox.controller.replay import replay
from signalbox.controller.shared_commit import SharedMoved, commit_shared
from signalbox.metadata.shared_changes import SharedChanges
from signalbox.metadata.store.port import (
    BadOperation,
    Fence,
    FencedOut,
    MetadataStore,
    Operation,
    StoreFull,
    StoreUnavailable,
    VersionConflict,
    in_commits,
    refuse_bad_operation,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message

log = logging.getLogger(__name__)

MAX_DECISIONS_PER_COMMIT = 256  # a turn ends here even if more waits, so that the first need not wait for the last


T = TypeVar("T")


class InSlices(Protocol):
    """Runs long work (`common/long_work.py`) so that the event loop gets its turn in between; its result."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class Answer(Protocol):
    """Where an answer goes; a future."""

    def done(self) -> bool: ...

    def set_result(self, result: Message, /) -> None: ...


@dataclass(slots=True)
class Pending:
    """Something to decide. `refused` makes the answer for an error, in its words; both are None for events."""

    decide: Callable[[ControllerContext], Decision]
    answer: Answer | None = None
    refused: Callable[[Error, str], Message] | None = None

    def fail(self, error: Error, message: str | None = None) -> None:
        """Answer with an error, if somebody waits; in Kafka's words for it where there are no better."""
        if self.answer is not None and self.refused is not None and not self.answer.done():
            self.answer.set_result(self.refused(error, message or error.message))


@dataclass(slots=True)
class Turn:
    """`taken` is what the turn took off the queue; whoever runs it must answer for these if it does not end well."""

    context: ControllerContext
    taken: list[Pending] = field(default_factory=list)
    decided: list[tuple[Pending, Decision]] = field(default_factory=list)
    batch: ControlBatch = field(default_factory=ControlBatch)

    @property
    def undone(self) -> list[Pending]:
        """What the turn took and nobody was answered for."""
        return [pending for pending in self.taken if pending.answer is None or not pending.answer.done()]

    async def run(self, queue: deque[Pending], store: MetadataStore, fence: Fence, in_slices: InSlices) -> None:
        """Decide what waits and store it. Raises the store's errors (StoreFull: there is no room for all of it), and
        SharedMoved or StatesMoved when all of it has to be decided again; each decision is run by `in_slices`."""
        operations: list[Operation] = []
        while queue and len(self.taken) < MAX_DECISIONS_PER_COMMIT:
            pending = queue.popleft()
            self.taken.append(pending)
            try:
                operations += await in_slices(partial(self._decide, pending))
            except BadOperation as bad:
                log.warning("a decision is refused, its outcome cannot be stored: %s", bad)
                pending.fail(Error.INVALID_REQUEST)
            except Exception:
                log.exception("a decision failed; nothing of it is stored")
                pending.fail(Error.UNKNOWN_SERVER_ERROR)
        # An answer that changes nothing is checked against the fence too: a controller that was stopped and woke up
        # must not say "it is so" about what another has changed meanwhile.
        if operations or any(pending.answer is not None for pending in self.taken):
            # What is too much for one commit loses its atomicity, not its safety: a controller that ends between two
            # leaves topics whose partitions are not all there, or partitions whose leader is gone, and the next one's
            # first look at the store completes those. Nobody was answered before the last.
            shared = SharedChanges(self.context.shared_version)
            for number, part in enumerate([*in_commits(operations, store.max_commit_bytes)] or [[]]):
                try:
                    shared = await _commit(store, part, fence, shared)
                except (SharedMoved, StatesMoved) as moved:
                    if number:
                        raise FencedOut(moved.path, "another broker came between two commits of one turn") from moved
                    raise
                except StoreFull as full:
                    if number:
                        raise StoreUnavailable(
                            f"the first {number} commits of a turn are stored, no more: {full}"
                        ) from full
                    raise
            if shared.version != self.context.shared_version:
                self.context = replace(self.context, shared_version=shared.version)

    def _decide(self, pending: Pending) -> list[Operation]:
        """What to store for one decision; nothing has changed when it fails. Breathes."""
        decision = pending.decide(self.context)
        after, stored = replay(self.context, decision.records)
        for operation in stored:  # here it is one request's fault; at the store it would be the end of the term
            breathe()
            refuse_bad_operation(operation)
        self.context = after
        self.batch.add(after, decision.effects)
        self.decided.append((pending, decision))
        return stored


async def _commit(
    store: MetadataStore, operations: Sequence[Operation], fence: Fence, shared: SharedChanges
) -> SharedChanges:
    try:
        return await commit_shared(store, operations, fence, shared)
    except VersionConflict as conflict:
        if (moved := moved_by(conflict, operations)) is not None:
            raise moved from conflict
        raise
