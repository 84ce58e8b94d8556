"""What the clients of a bank observed: results of transactions, and records in the order in which readers got them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tools.chaos.bank.transfer import Entry, TransactionId

Rows = Sequence[tuple[int, Entry]]
"""Offset and entry, in the order in which a partition was read."""
Places = Mapping[int, Rows]
"""Rows by partition."""


class Result(Enum):
    """What its producer knows of a transaction. UNKNOWN: it may be committed or not."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass
class Transaction:
    """`reads`: the transactions that the producer had read, as `read_committed`, before it sent this one's records.
    `offset`: what it committed for its group in the transaction, None if nothing."""

    transaction_id: TransactionId
    entries: tuple[Entry, ...]
    reads: frozenset[TransactionId] = frozenset()
    offset: int | None = None
    result: Result = Result.UNKNOWN


@dataclass
class Reading:
    """What one reader got while the run lasted."""

    name: str
    is_committed: bool
    rows: dict[int, list[tuple[int, Entry]]] = field(default_factory=lambda: defaultdict(list))


@dataclass
class BankHistory:
    """`transactions` in the order in which each producer began them. `committed` and `uncommitted`: everything, read at
    the end at either isolation level. `group_offsets`: the offset of each producer's group at the end, None if it has
    none. `unstable`: partitions whose last stable offset is not their end, in words."""

    transactions: list[Transaction] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    committed: Places = field(default_factory=dict)
    uncommitted: Places = field(default_factory=dict)
    group_offsets: Mapping[int, int | None] = field(default_factory=dict)
    unstable: Sequence[str] = ()
