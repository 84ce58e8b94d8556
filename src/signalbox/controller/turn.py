"""One turn of the controller: everything that waits is decided in order, and all of it is stored by one commit (by
several where the store takes no more at once).

Each decision sees what those before it decided. When the commit is refused nothing of the turn has happened: no
context, no request to a broker, no answer leaves this file before it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from signalbox.controller.context import ControllerContext
from signalbox.controller.control_batch import ControlBatch
from signalbox.controller.decision import Decision, Part
from signalbox.controller.replay import replay
from signalbox.metadata.store.port import Fence, MetadataStore, Operation, size_bytes
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message

log = logging.getLogger(__name__)

MAX_DECISIONS_PER_COMMIT = 256  # a turn ends here even if more waits, so that the first need not wait for the last


class Answer(Protocol):
    """Where an answer goes; a future."""

    def done(self) -> bool: ...

    def set_result(self, result: Message, /) -> None: ...


@dataclass(slots=True)
class Pending:
    """Something to decide. `refused` makes the answer for an error; both are None for events."""

    decide: Callable[[ControllerContext], Decision]
    answer: Answer | None = None
    refused: Callable[[Error], Message] | None = None

    def fail(self, error: Error) -> None:
        """Answer with an error, if somebody waits."""
        if self.answer is not None and self.refused is not None and not self.answer.done():
            self.answer.set_result(self.refused(error))


@dataclass(slots=True)
class Turn:
    """`taken` is what the turn took off the queue; whoever runs it must answer for these if it does not end well."""

    context: ControllerContext
    taken: list[Pending] = field(default_factory=list)
    decided: list[tuple[Pending, Decision]] = field(default_factory=list)
    batch: ControlBatch = field(default_factory=ControlBatch)

    async def run(
        self, queue: deque[Pending], store: MetadataStore, fence: Fence, breathe: Callable[[], Awaitable[None]]
    ) -> None:
        """Decide what waits and store it. Raises the store's errors; `breathe` is awaited between decisions."""
        operations: list[Operation] = []
        while queue and len(self.taken) < MAX_DECISIONS_PER_COMMIT:
            pending = queue.popleft()
            self.taken.append(pending)
            try:
                operations += await self._decide(pending, breathe)
            except Exception:
                log.exception("a decision failed; nothing of it is stored")
                pending.fail(Error.UNKNOWN_SERVER_ERROR)
        # An answer that changes nothing is checked against the fence too: a controller that was stopped and woke up
        # must not say "it is so" about what another has changed meanwhile.
        if operations or any(pending.answer is not None for pending in self.taken):
            for part in _parts(operations, store.max_commit_bytes):
                await store.commit(part, fence)

    async def _decide(self, pending: Pending, breathe: Callable[[], Awaitable[None]]) -> list[Operation]:
        """All parts of a decision, or nothing of it: what to store."""
        context, operations = self.context, list[Operation]()
        made: list[tuple[ControllerContext, Decision]] = []
        left: deque[Part] = deque([pending.decide])
        while left:
            decision = left.popleft()(context)
            context, stored = replay(context, decision.records)
            operations += stored
            made.append((context, decision))
            left.extendleft(reversed(decision.then))
            await breathe()
        self.context = context
        for after, decision in made:
            self.batch.add(after, decision.effects)
            await breathe()
        self.decided.append((pending, made[0][1]))
        return operations


def _parts(operations: list[Operation], limit_bytes: int) -> Iterator[list[Operation]]:
    """The operations in order, in commits the store can take; almost always just one.

    What is too much for one commit loses its atomicity, not its safety: a controller that ends between two parts leaves
    topics whose partitions are not all there, or partitions whose leader is gone, and the next one's first look at the
    store completes those. Nobody was answered before the last part."""
    part: list[Operation] = []
    left_bytes = limit_bytes
    for operation in operations:
        needed_bytes = size_bytes(operation)
        if part and needed_bytes > left_bytes:
            yield part
            part, left_bytes = [], limit_bytes
        part.append(operation)
        left_bytes -= needed_bytes
    yield part
