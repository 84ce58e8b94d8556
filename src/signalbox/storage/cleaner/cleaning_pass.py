"""A cleaning round as the worker does it: the map of the dirty part first, then the rewriting of group after group."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.batch_header import CONTROL_BIT, BatchHeader
from signalbox.storage.cleaner.batch_filter import BatchFilter, uncompressed_records
from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.cleaner.cleaned_transactions import CleanedTransactions
from signalbox.storage.cleaner.offset_map import LONGEST_PLAIN_KEY, OffsetMap, identity_of
from signalbox.storage.cleaner.record_spans import record_spans
from signalbox.storage.cleaner.segment_batches import batch_chunks
from signalbox.storage.cleaner.segment_output import SegmentOutput
from signalbox.storage.cleaner.worker_port import (
    CleanedTarget,
    CleaningFault,
    Mapped,
    Rewritten,
    SegmentSource,
    WorkerLimits,
)
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.segments.transaction_index import AbortedTransaction

_SHORTEST_SLEEP_S, _LONGEST_SLEEP_S = 0.001, 1.0


class Throttle:
    """Limits the rate of reads and writes (`log.cleaner.io.max.bytes.per.second`): the average since the throttle was
    created."""

    def __init__(
        self,
        bytes_per_second: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._now = now
        self._sleep = sleep
        self._started = now()
        self._bytes = 0

    def count(self, size_bytes: int) -> None:
        """Waits until `size_bytes` more are within the rate."""
        self._bytes += size_bytes
        due = self._started + self._bytes / self._bytes_per_second
        while (ahead_s := due - self._now()) > _SHORTEST_SLEEP_S:
            self._sleep(min(ahead_s, _LONGEST_SLEEP_S))


class CleaningPass:
    """A `CleaningWorker` in the process of its caller."""

    def __init__(self, file_system: FileSystem, throttle: Callable[[float], Throttle] = Throttle) -> None:
        self._file_system = file_system
        self._new_throttle = throttle
        self.begin(WorkerLimits(0, 1, 1.0))

    def begin(self, limits: WorkerLimits) -> None:
        """A new round."""
        self._buffer_bytes = limits.io_buffer_bytes
        self._throttle = self._new_throttle(limits.bytes_per_second)
        self._map = OffsetMap(limits.map_bytes)
        self._last_records: dict[int, tuple[int, int]] = {}
        self._transactions = CleanedTransactions()

    def map_segment(self, source: SegmentSource) -> Mapped:
        """Records at the offset that does not fit, and behind it, stay as they are in this round."""
        for batch, data in self._batches(source):
            if batch.last_offset < source.start_offset:
                continue
            full_at = self._map_batch(batch, data, source.start_offset)
            self._map.latest_offset = batch.last_offset if full_at is None else full_at - 1
            if full_at is not None:
                return self._mapped(is_full=True)
        self._map.latest_offset = max(self._map.latest_offset, source.next_offset - 1)  # the last offsets may be gone
        return self._mapped()

    def _mapped(self, is_full: bool = False) -> Mapped:
        return Mapped(self._map.latest_offset, self._map.utilization, is_full)

    def _map_batch(self, batch: BatchHeader, data: memoryview, start_offset: int) -> int | None:
        """Returns the offset of the first record that has no room in the map."""
        if batch.attributes & CONTROL_BIT or self._transactions.is_aborted(batch):
            return None
        base_offset, offset_map, offsets = batch.base_offset, self._map, self._map.offsets
        try:
            for _, _, delta, key, _ in record_spans(uncompressed_records(data, batch), batch.record_count):
                if key is None or base_offset + delta < start_offset:
                    continue
                identity = key if len(key) <= LONGEST_PLAIN_KEY else identity_of(key)
                if identity in offsets:
                    offsets[identity] = base_offset + delta
                elif not offset_map.put(key, base_offset + delta):
                    return base_offset + delta
        except KafkaError as error:
            raise _fault(batch, error) from None
        return None

    def add_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        """They apply to the map or to the rewriting, whichever has begun."""
        self._transactions.add(aborted)

    def begin_rewriting(self) -> None:
        """Begins at the start of the log."""
        self._transactions = CleanedTransactions()

    def add_last_records(self, last_records: Mapping[int, tuple[int, int]]) -> None:
        """They apply to all groups of the round."""
        self._last_records.update(last_records)

    def rewrite(self, sources: Sequence[SegmentSource], target: CleanedTarget, rules: RetentionRules) -> Rewritten:
        """The transactions of a round continue from group to group."""
        batch_filter = BatchFilter(self._map, self._transactions, replace(rules, last_records=self._last_records))
        output = SegmentOutput(self._file_system, target, self._buffer_bytes, self._throttle.count)
        bytes_read = records_read = records_kept = 0
        for batch, data in chain.from_iterable(map(self._batches, sources)):
            try:
                cleaned = batch_filter.clean(data, batch)
            except KafkaError as error:
                raise _fault(batch, error) from None
            bytes_read += batch.size_bytes
            records_read += batch.record_count
            records_kept += cleaned.kept
            if len(cleaned.data):
                output.add(cleaned, batch)
        size_bytes = output.complete(self._transactions.take_kept())
        return Rewritten(size_bytes, bytes_read, records_read, records_kept)

    def _batches(self, source: SegmentSource) -> chain[tuple[BatchHeader, memoryview]]:
        chunks = batch_chunks(self._file_system, source, self._buffer_bytes, self._throttle.count)
        return chain.from_iterable(chunks)

    def close(self) -> None:
        """Releases the map."""
        self.begin(WorkerLimits(0, 1, 1.0))

    def kill(self) -> None:
        """Calls end by themselves here."""


def _fault(batch: BatchHeader, error: KafkaError) -> CleaningFault:
    return CleaningFault(f"the batch at offset {batch.base_offset} cannot be read: {error.message}")
