"""What a coordinator decides: records first, then an answer (decide → records → log → replay).

A decision that needs no record is answered at once. One with records is answered when they are committed; then
they are replayed into the shard, so that what a shard shows to readers is what the log holds. State that lives in
the shard alone (who waits for a join, which generation is being made) is changed by the decision itself and never
replayed; the decision hears the outcome of its write and can take such a change back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from signalbox.protocol.error_table import Error

R = TypeVar("R")

Outcome = Callable[[Error], None]


class CoordinatorRecord(NamedTuple):
    """A record as the shard's own words: a key and a value, or None for a tombstone. The serde makes bytes of it."""

    key: Any
    value: Any | None


@dataclass(slots=True)
class Decision(Generic[R]):
    """`response` once `records` are committed. `on_outcome` hears Error.NONE or why the write failed, before the
    answer goes out. `replayed` = False: the decision keeps the state of these records up to date by itself.
    `atomic` = False: the records may be spread over several batches."""

    response: R
    records: list[CoordinatorRecord] = field(default_factory=list)
    on_outcome: Outcome | None = None
    replayed: bool = True
    atomic: bool = True


def nothing() -> Decision[None]:
    """Decided, and there is nothing to write."""
    return Decision(None)
