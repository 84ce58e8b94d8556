"""A batch without the records that compaction removes.

A batch that keeps all records stays as it is, byte for byte. Otherwise the records that stay are copied as they are:
offsets and timestamps count from the base of the batch, which does not change, nor do its last offset, its sequence and
its epochs. Timestamps are rewritten only if the batch gets a delete horizon, which replaces the base timestamp.
Compressed records are decompressed first, and compressed again with the same codec.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from signalbox.protocol.records.batch_header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    write_batch_header,
)
from signalbox.protocol.records.compression import compress, compression_name, decompress
from signalbox.protocol.records.transaction_marker import read_marker
from signalbox.storage.cleaner.batch_retention import (
    DELETE_HORIZON_BIT,
    BatchRetention,
    RetentionRules,
    has_horizon,
    is_past_horizon,
    retention_of,
)
from signalbox.storage.cleaner.cleaned_transactions import CleanedTransactions
from signalbox.storage.cleaner.offset_map import LONGEST_PLAIN_KEY, OffsetMap, identity_of
from signalbox.storage.cleaner.record_spans import record_spans, timestamp_delta, with_timestamp_delta

_NO_TIMESTAMP = -1
_LATEST_HORIZON_MS = 2**63 - 1  # the largest timestamp


class Cleaned(NamedTuple):
    """What is left of a batch: `data` is empty if it is removed. `kept`: the number of its records."""

    data: bytes | memoryview
    kept: int
    max_timestamp: int


class KeptRecords(NamedTuple):
    """Where the records that stay begin and end. Arrays: a batch may have millions of records."""

    begins: array[int]
    ends: array[int]


REMOVED = Cleaned(b"", 0, _NO_TIMESTAMP)


def uncompressed_records(data: memoryview, batch: BatchHeader) -> bytes:
    """The records of a batch, whose bytes are `data`. KafkaError if they cannot be decompressed."""
    payload = data[HEADER_SIZE:]
    code = batch.attributes & COMPRESSION_MASK
    if not code or not batch.record_count:
        return bytes(payload)
    return decompress(compression_name(code), payload)


class BatchFilter:
    """Compacts the batches of a pass, in order."""

    def __init__(self, offset_map: OffsetMap, transactions: CleanedTransactions, rules: RetentionRules) -> None:
        self._offsets = offset_map.offsets
        self._latest_offset = offset_map.latest_offset
        self._transactions = transactions
        self._rules = rules

    def clean(self, data: memoryview, batch: BatchHeader) -> Cleaned:
        """What is left of one batch. KafkaError CORRUPT_MESSAGE if its records cannot be read."""
        marker = read_marker(data) if batch.attributes & CONTROL_BIT else None
        retention = retention_of(batch, marker, self._transactions, self._rules)
        if retention.drop_records or not batch.record_count:
            return _empty(batch) if retention.keep_empty else REMOVED
        records = uncompressed_records(data, batch)
        if batch.attributes & CONTROL_BIT:
            spans = list(record_spans(records, batch.record_count))
            kept = KeptRecords(array("I", [span[0] for span in spans]), array("I", [span[1] for span in spans]))
            tombstones = False
        else:
            kept, tombstones = self._kept(records, batch)
        count = len(kept.begins)
        if not count:
            return _empty(batch) if retention.keep_empty else REMOVED
        if _needs_horizon(batch, retention, tombstones):
            horizon_ms = min(self._rules.now_ms + self._rules.delete_retention_ms, _LATEST_HORIZON_MS)
            return _with_horizon(batch, records, kept, horizon_ms)
        if count == batch.record_count:
            return Cleaned(data, count, batch.max_timestamp)
        return _with(batch, records, kept)

    def _kept(self, records: bytes, batch: BatchHeader) -> tuple[KeptRecords, bool]:
        """The records that stay, and whether there is a tombstone among them."""
        base_offset, latest_offset = batch.base_offset, self._latest_offset
        deletes_tombstones = is_past_horizon(batch, self._rules.now_ms)
        last_offset_of = self._offsets.get
        kept, tombstones = KeptRecords(array("I"), array("I")), False
        add_begin, add_end = kept.begins.append, kept.ends.append
        for begin, end, delta, key, has_value in record_spans(records, batch.record_count):
            offset = base_offset + delta
            if offset <= latest_offset:
                if key is None:
                    continue
                if last_offset_of(key if len(key) <= LONGEST_PLAIN_KEY else identity_of(key), -1) > offset:
                    continue
                if not has_value and deletes_tombstones:
                    continue
            if not has_value:
                tombstones = True
            add_begin(begin)
            add_end(end)
        return kept, tombstones


def _needs_horizon(batch: BatchHeader, retention: BatchRetention, tombstones: bool) -> bool:
    return (retention.new_horizon or tombstones) and not has_horizon(batch)


def _with(batch: BatchHeader, records: bytes, kept: KeptRecords) -> Cleaned:
    """The batch with the `kept` records alone."""
    pieces, begin, end = [], kept.begins[0], kept.ends[0]
    for next_begin, next_end in zip(kept.begins, kept.ends, strict=True):
        if next_begin > end:
            pieces.append(records[begin:end])
            begin = next_begin
        end = next_end
    pieces.append(records[begin:end])
    return _written(batch, b"".join(pieces), len(kept.begins), max_timestamp=_max_timestamp(batch, records, kept))


def _max_timestamp(batch: BatchHeader, records: bytes, kept: KeptRecords) -> int:
    """The largest timestamp of the `kept` records. Usually it is that of the last one."""
    if batch.attributes & TIMESTAMP_TYPE_BIT:
        return batch.max_timestamp
    largest, top = -(2**63), batch.max_timestamp - batch.base_timestamp
    for begin in reversed(kept.begins):
        delta = timestamp_delta(records, begin)
        if delta >= top:
            return batch.max_timestamp
        largest = max(largest, delta)
    return batch.base_timestamp + largest


def _with_horizon(batch: BatchHeader, records: bytes, kept: KeptRecords, horizon_ms: int) -> Cleaned:
    """The batch with the `kept` records and with a delete horizon."""
    shift = batch.base_timestamp - horizon_ms
    body = b"".join(
        with_timestamp_delta(records, begin, end, timestamp_delta(records, begin) + shift)
        for begin, end in zip(kept.begins, kept.ends, strict=True)
    )
    return _written(
        batch,
        body,
        len(kept.begins),
        attributes=batch.attributes | DELETE_HORIZON_BIT,
        base_timestamp=horizon_ms,
        max_timestamp=_max_timestamp(batch, records, kept),
    )


def _written(batch: BatchHeader, body: bytes, count: int, **changes: int) -> Cleaned:
    code = batch.attributes & COMPRESSION_MASK
    payload = compress(compression_name(code), body) if code else body
    changed = batch._replace(record_count=count, **changes)
    return Cleaned(write_batch_header(changed, payload), count, changed.max_timestamp)


def _empty(batch: BatchHeader) -> Cleaned:
    """The header alone: what Kafka writes for a batch of which only offsets and sequence numbers are needed."""
    attributes = batch.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_BIT)
    data = write_batch_header(batch._replace(attributes=attributes, base_timestamp=_NO_TIMESTAMP, record_count=0), b"")
    return Cleaned(data, 0, _NO_TIMESTAMP)  # no record has the timestamp of the header
