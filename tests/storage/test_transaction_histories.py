"""Random histories of transactions in one log: its last stable offset, and the aborted transactions that readers get,
agree with a list of all batches, also after truncation, deleted records, restarts and crashes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.storage.last_run import LastRun
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import append, append_marker, append_transactional, batch, new_log, reopened

pytestmark = pytest.mark.spec("D5")

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=150)
PRODUCERS = range(4)
NEVER = 2**63 - 1

producers = st.sampled_from(PRODUCERS)
actions = st.one_of(
    st.tuples(st.just("append"), producers, st.integers(1, 3)),
    st.tuples(st.just("append"), producers, st.integers(1, 3)),
    st.tuples(st.just("end"), producers, st.booleans()),
    st.tuples(st.just("end"), producers, st.booleans()),
    st.tuples(st.just("append_plain"), st.integers(1, 3), st.none()),
    st.tuples(st.just("commit"), st.integers(0, 100), st.none()),
    st.tuples(st.just("truncate"), st.integers(0, 100), st.none()),
    st.tuples(st.just("delete"), st.integers(0, 100), st.none()),
    st.tuples(st.just("restart"), st.booleans(), st.none()),
)


class Transaction(NamedTuple):
    """`marker` is NEVER while it is open."""

    producer_id: int
    first_offset: int
    marker: int
    is_aborted: bool


class History:
    """A log, and all batches that were appended to it: (offset, producer id, is_commit; None for data)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = new_log(folder, CONFIG)
        self.batches: list[tuple[int, int, bool | None]] = []
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.knows_markers_from = 0  # those before it may be forgotten: the log was loaded from a snapshot

    def append(self, producer_id: int, count: int) -> None:
        entry = self.log.producers.get(producer_id)
        sequence = entry.last_sequence + 1 if entry is not None else 0
        offset = append_transactional(self.log, producer_id, sequence, count)
        self.batches.append((offset, producer_id, None))

    def append_plain(self, count: int, _: None) -> None:
        append(self.log, batch(count))

    def end(self, producer_id: int, is_commit: bool) -> None:
        self.batches.append((append_marker(self.log, producer_id, is_commit=is_commit), producer_id, is_commit))

    def commit(self, percent: int, _: None) -> None:
        log = self.log
        log.high_watermark += (log.log_end_offset - log.high_watermark) * percent // 100

    def truncate(self, percent: int, _: None) -> None:
        log = self.log
        log.truncate_to(log.high_watermark + (log.log_end_offset - log.high_watermark) * percent // 100)
        self.batches = [row for row in self.batches if row[0] < log.log_end_offset]
        self.knows_markers_from = log.log_end_offset  # below the high watermark in replication

    def delete(self, percent: int, _: None) -> None:
        log = self.log
        log.delete_records_before(log.log_start_offset + (log.high_watermark - log.log_start_offset) * percent // 100)

    def restart(self, clean: bool, _: None) -> None:
        log = self.log
        high_watermark, start = log.high_watermark, log.log_start_offset
        if clean:
            log.close()
        recovery_point = log.body.recovery_point
        self.log = reopened(self.folder, CONFIG, LastRun(clean, recovery_point, start))
        self.log.high_watermark = high_watermark
        self.knows_markers_from = self.log.log_end_offset

    # -- what must hold

    def transactions(self) -> list[Transaction]:
        found: list[Transaction] = []
        open_offsets: dict[int, int] = {}
        for offset, producer_id, is_commit in self.batches:
            if is_commit is None:
                open_offsets.setdefault(producer_id, offset)
            elif producer_id in open_offsets:
                found.append(Transaction(producer_id, open_offsets.pop(producer_id), offset, not is_commit))
        return found + [Transaction(producer_id, offset, NEVER, False) for producer_id, offset in open_offsets.items()]

    def check(self) -> None:
        log, transactions = self.log, self.transactions()
        bound = min([log.high_watermark, *(t.first_offset for t in transactions if t.marker == NEVER)])
        unstable = (t for t in transactions if t.marker >= log.high_watermark)
        exact = min([log.high_watermark, *(t.first_offset for t in unstable)])
        at_most, at_least = max(bound, log.log_start_offset), max(exact, log.log_start_offset)
        assert at_least <= log.last_stable_offset <= at_most
        if all(t.marker >= self.knows_markers_from for t in transactions if t.marker >= log.high_watermark):
            assert log.last_stable_offset == at_least

    def check_reads(self) -> None:
        log = self.log
        aborted = [t for t in self.transactions() if t.is_aborted]
        for offset in range(log.log_start_offset, log.log_end_offset):
            for max_bytes in (1, 300):
                records = log.read(offset, max_bytes)
                data = records.records if isinstance(records.records, bytes) else records.records.read()
                end_offset = list(iter_batch_headers(data, allow_partial_tail=True))[-1].next_offset
                given = {(row.producer_id, row.first_offset) for row in log.aborted_transactions(offset, records)}
                assert given <= {(t.producer_id, t.first_offset) for t in aborted if t.marker >= offset}
                needed = (t for t in aborted if t.marker >= offset and t.first_offset < end_offset)
                assert {(t.producer_id, t.first_offset) for t in needed} <= given


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(actions, min_size=5, max_size=40))
def test_last_stable_offset_and_aborted_transactions(history: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = History(Path(folder))
        for action, first, second in history:
            getattr(run, action)(first, second)
            run.check()
        run.check_reads()
        run.restart(False, None)
        run.check_reads()
        run.log.body.close_files()
