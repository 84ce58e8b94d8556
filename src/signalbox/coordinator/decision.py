"""Decisions of a coordinator: records, a response and effects (decide → records → log → replay → effects).

A decision without records returns its response at once. If there are records, they are replayed into the shard when
they are committed, so that readers of the shard see what the log holds; then the effects run; then the response is
sent. State that is only in the shard (members that wait for a join, the next generation) is changed by the decision
itself and never replayed; `on_failure` gives the decision the error of its write, so that it can undo such a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from signalbox.protocol.error_table import Error

R = TypeVar("R")

Effect = Callable[[], None]


NO_PRODUCER_ID = -1


class CoordinatorRecord(NamedTuple):
    """A record as objects of the shard: a key, and a value or None (tombstone). The serde encodes it. `producer_id` is
    that of the transaction in which it was written, -1 without one."""

    key: Any
    value: Any | None
    producer_id: int = NO_PRODUCER_ID


class TransactionEnd(NamedTuple):
    """The key of a `CoordinatorRecord` for a transaction marker in the log: the transaction of its producer id is
    committed or aborted. It is only replayed, never encoded."""

    committed: bool


@dataclass(slots=True)
class Decision(Generic[R]):
    """`response` is sent when `records` are committed.

    `effects`: what must be done then, in this order, and never if the write fails. If the commit comes after the client
    got REQUEST_TIMED_OUT, they run as well; they do not run if this broker never observes the commit: the next leader
    finds the records in the log.
    `on_failure`: called with the error that the client gets, before the response.
    `replayed` = False: the decision itself updates the state that these records describe.
    `atomic` = False: the records may be split into several batches.
    `producer`: the id and epoch of the producer in whose transaction the records are written; they are one batch.
    `guard`: of the transaction's verification, from `CoordinatorLog.start_verification`.
    `on_concluded`: called once when no record of the decision is being written any more, before `effects` and
    `on_failure`. After a timeout that is later than the response: till then the records are in the log, and may be
    replayed."""

    response: R
    records: list[CoordinatorRecord] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    on_failure: Callable[[Error], None] | None = None
    replayed: bool = True
    atomic: bool = True
    producer: tuple[int, int] | None = None
    guard: object | None = None
    on_concluded: Callable[[], None] | None = None


def nothing() -> Decision[None]:
    """A decision without records and response."""
    return Decision(None)
