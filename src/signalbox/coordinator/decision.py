"""Decisions of a coordinator: records and a response (decide → records → log → replay).

A decision without records returns its response at once. If there are records, the response is sent when they are
committed; then they are replayed into the shard, so that readers of the shard see what the log holds. State that is
only in the shard (members that wait for a join, the next generation) is changed by the decision itself and never
replayed; `on_completion` gives the decision the result of its write, so that it can undo such a change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from signalbox.protocol.error_table import Error

R = TypeVar("R")

CompletionCallback = Callable[[Error], None]


class CoordinatorRecord(NamedTuple):
    """A record as objects of the shard: a key, and a value or None (tombstone). The serde encodes it."""

    key: Any
    value: Any | None


@dataclass(slots=True)
class Decision(Generic[R]):
    """`response` is sent when `records` are committed. `on_completion` is called before that, with Error.NONE or the
    error of the write. `replayed` = False: the decision itself updates the state that these records describe.
    `atomic` = False: the records may be split into several batches."""

    response: R
    records: list[CoordinatorRecord] = field(default_factory=list)
    on_completion: CompletionCallback | None = None
    replayed: bool = True
    atomic: bool = True


def nothing() -> Decision[None]:
    """A decision without records and response."""
    return Decision(None)
