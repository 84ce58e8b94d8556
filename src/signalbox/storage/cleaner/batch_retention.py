"""What compaction keeps (Kafka's Cleaner and MemoryRecords.filterTo).

    record                                               kept
    --------------------------------------------------   ------------------------------------------------
    behind the part of the log that is in the map        yes
    without a key                                        no
    not the last one of its key                          no
    the last one of its key, with a value                yes
    the last one of its key, a tombstone                 until the delete horizon of its batch
    of an aborted transaction                            no
    marker of a transaction of which batches are left    yes
    any other marker                                     until the delete horizon of its batch

A batch gets its delete horizon when it is first compacted with a tombstone or with a marker that is not needed any
more: `delete.retention.ms` later. A batch without records is removed, unless it is the last one of an active producer
(it has the producer's last sequence number) or the last one of the round (it has the last offset).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from signalbox.protocol.records.batch_header import CONTROL_BIT, BatchHeader
from signalbox.protocol.records.transaction_marker import TransactionMarker
from signalbox.storage.cleaner.cleaned_transactions import CleanedTransactions

DELETE_HORIZON_BIT = 0x40  # the base timestamp of the batch is its delete horizon


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """`now_ms`: when the round began; `upper_bound_offset`: where its part of the log ends. `last_records`: of each
    active producer its last offset (-1: it has written markers only) and its epoch."""

    now_ms: int
    delete_retention_ms: int
    upper_bound_offset: int
    last_records: Mapping[int, tuple[int, int]] = field(default_factory=dict)


class BatchRetention(NamedTuple):
    """`drop_records`: none is kept; `keep_empty`: the header is kept even without records; `new_horizon`: the batch
    needs a delete horizon if it has none."""

    drop_records: bool
    keep_empty: bool
    new_horizon: bool = False


def retention_of(
    batch: BatchHeader, marker: TransactionMarker | None, transactions: CleanedTransactions, rules: RetentionRules
) -> BatchRetention:
    """`marker`: of a control batch, None for a control record of another kind."""
    keep_empty = batch.base_offset + batch.last_offset_delta + 1 == rules.upper_bound_offset or (
        batch.producer_id >= 0 and _is_last_of_producer(batch, rules)
    )
    if not batch.attributes & CONTROL_BIT:
        return BatchRetention(transactions.is_aborted(batch), keep_empty)
    can_discard = transactions.can_discard(batch, marker)
    return BatchRetention(can_discard and is_past_horizon(batch, rules.now_ms), keep_empty, can_discard)


def has_horizon(batch: BatchHeader) -> bool:
    """Whether the batch has a delete horizon."""
    return bool(batch.attributes & DELETE_HORIZON_BIT)


def is_past_horizon(batch: BatchHeader, now_ms: int) -> bool:
    """Whether tombstones and markers of the batch may be deleted now."""
    return bool(batch.attributes & DELETE_HORIZON_BIT) and batch.base_timestamp <= now_ms


def _is_last_of_producer(batch: BatchHeader, rules: RetentionRules) -> bool:
    last = rules.last_records.get(batch.producer_id)
    if last is None:
        return False
    last_offset, producer_epoch = last
    if last_offset >= 0:
        return batch.last_offset == last_offset
    return batch.is_control and batch.producer_epoch == producer_epoch
