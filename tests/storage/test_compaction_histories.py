"""Random histories of transactions in a compacted log, with rounds at any moment and processes that end at any change
of the disk. A reader of committed records gets committed records alone, among them the newest one of each key."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.protocol.records.record_batch import records_of
from signalbox.protocol.records.transaction_marker import read_marker
from signalbox.storage.cleaner.offset_map import ENTRY_BYTES
from signalbox.storage.cleaner.worker_port import WorkerLimits
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from tests.storage.cleaner.cleaning import NO_LIMIT, CompactedLog, append_batch, keyed, marker
from tests.storage.test_interrupted_swaps import Killed, MortalFileSystem
from tests.storage.workbench import new_log

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.spec("D5"),
    pytest.mark.spec("D6"),
    # A round that is dropped removes its files; here its process is dead by then.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CONFIG = LogConfig(
    cleanup_policy=("compact", "delete"),
    segment_bytes=600,
    index_interval_bytes=150,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1_000,
    file_delete_delay_ms=0,
    retention_ms=-1,
)
KEYS, PRODUCERS = "abcde", range(3)

batches = st.dictionaries(st.sampled_from(KEYS), st.booleans(), min_size=1, max_size=3)
producers = st.sampled_from(PRODUCERS)
kills = st.one_of(st.none(), st.integers(0, 60))
actions = st.one_of(
    st.tuples(st.just("write"), producers, batches),
    st.tuples(st.just("write"), producers, batches),
    st.tuples(st.just("write"), producers, batches),
    st.tuples(st.just("end"), producers, st.booleans()),
    st.tuples(st.just("end"), producers, st.booleans()),
    st.tuples(st.just("write_plain"), st.none(), batches),
    st.tuples(st.just("roll"), st.none(), st.none()),
    st.tuples(st.just("compact"), kills, st.sampled_from((1, 2, 100))),
    st.tuples(st.just("compact"), kills, st.sampled_from((1, 2, 100))),
    st.tuples(st.just("advance"), st.booleans(), st.none()),
    st.tuples(st.just("replicate"), st.integers(0, 100), st.none()),
    st.tuples(st.just("truncate"), st.integers(0, 100), st.none()),
    st.tuples(st.just("delete"), st.integers(0, 30), st.none()),
    st.tuples(st.just("restart"), kills, st.sampled_from(("all", "oldest", "none"))),
)


class Written(NamedTuple):
    """A record. `producer_id` -1: of no transaction."""

    producer_id: int
    key: str
    value: str | None


class History:
    """A log, all records that were appended to it, and all markers: by offset."""

    def __init__(self, folder: Path) -> None:
        self.compacted = CompactedLog(folder, CONFIG, MortalFileSystem())
        self.records: dict[int, Written] = {}
        self.markers: dict[int, tuple[int, bool]] = {}
        self.ends: list[int] = []  # of the batches
        self.values = count()

    @property
    def log(self) -> Log:
        return self.compacted.log

    # -- actions

    def write(self, producer_id: int, keys: dict[str, bool]) -> None:
        entry = self.log.producers.get(producer_id)
        sequence = entry.last_sequence + 1 if entry is not None else 0
        self._write(producer_id, keys, producer=(producer_id, 0, sequence), transactional=True)

    def write_plain(self, _: None, keys: dict[str, bool]) -> None:
        self._write(-1, keys)

    def _write(self, producer_id: int, keys: dict[str, bool], **fields: Any) -> None:
        values = {key: str(next(self.values)) if has_value else None for key, has_value in keys.items()}
        for offset, (key, value) in enumerate(values.items(), self.log.next_offset):
            self.records[offset] = Written(producer_id, key, value)
        self._append(keyed(values, now_ms=self.compacted.clock.now_ms(), **fields))

    def end(self, producer_id: int, is_commit: bool) -> None:
        self.markers[self.log.next_offset] = producer_id, is_commit
        self._append(marker(producer_id, commit=is_commit, now_ms=self.compacted.clock.now_ms()))

    def _append(self, batch: bytes) -> None:
        append_batch(self.log, batch, self.compacted.clock.now_ms())
        self.compacted.logs.flush_appends()
        self.ends.append(self.log.log_end_offset)

    def roll(self, _: None, __: None) -> None:
        self.log.roll()

    def compact(self, kill_after: int | None, keys: int) -> None:
        limits = WorkerLimits(keys * (ENTRY_BYTES + 1), 4_096, NO_LIMIT)
        self._until_killed(kill_after, lambda: self.compacted.clean(limits))

    def advance(self, expires_producers: bool, _: None) -> None:
        clock = self.compacted.clock
        clock.advance(2_000)
        if expires_producers:
            self.log.expire_producers(clock.now_ms(), 2_000)

    def replicate(self, percent: int, _: None) -> None:
        """Followers fetch complete batches."""
        log = self.log
        offset = log.high_watermark + (log.log_end_offset - log.high_watermark) * percent // 100
        log.high_watermark = max((end for end in self.ends if end <= offset), default=0)
        log.high_watermark = max(log.high_watermark, log.log_start_offset)

    def truncate(self, percent: int, _: None) -> None:
        log = self.log
        log.truncate_to(log.high_watermark + (log.log_end_offset - log.high_watermark) * percent // 100)
        self.records = {offset: row for offset, row in self.records.items() if offset < log.log_end_offset}
        self.markers = {offset: row for offset, row in self.markers.items() if offset < log.log_end_offset}
        self.ends = [end for end in self.ends if end <= log.log_end_offset]

    def delete(self, percent: int, _: None) -> None:
        log = self.log
        log.delete_records_before(log.log_start_offset + (log.high_watermark - log.log_start_offset) * percent // 100)

    def restart(self, kill_after: int | None, snapshots: str) -> None:
        """`snapshots`: which of them are intact."""
        compacted = self.compacted
        compacted.logs.checkpoint()
        if kill_after is None:
            compacted.logs.close()
        else:
            compacted.kill()
        paths = sorted(compacted.folder.rglob("*.snapshot"))
        for path in paths if snapshots == "none" else paths[1:] if snapshots == "oldest" else ():
            path.write_bytes(b"corrupt")
        self._until_killed(kill_after, compacted.open)
        assert self.log.last_stable_offset >= max(min(self.open_offsets()), self.log.log_start_offset)

    def _until_killed(self, kill_after: int | None, run: Callable[[], object]) -> None:
        file_system = self.compacted.file_system
        assert isinstance(file_system, MortalFileSystem)
        file_system.after = None if kill_after is None else len(file_system.changes) + kill_after
        try:
            run()
        except Killed:
            file_system.after = None
            self.compacted.kill()
            self.compacted.open()
        file_system.after = None

    # -- what must hold

    def committed(self) -> dict[int, Written]:
        """The records that a reader of committed records may get."""
        ends: dict[int, bool] = {}
        committed: dict[int, Written] = {}
        for offset in sorted(self.records.keys() | self.markers.keys(), reverse=True):
            if offset in self.markers:
                producer_id, is_commit = self.markers[offset]
                ends[producer_id] = is_commit
            elif (row := self.records[offset]).producer_id < 0 or ends.get(row.producer_id):
                committed[offset] = row
        begin, end = self.log.log_start_offset, self.log.last_stable_offset
        return {offset: row for offset, row in sorted(committed.items()) if begin <= offset < end}

    def open_offsets(self) -> list[int]:
        """The offsets of records of transactions without a marker, and the log end."""
        ended = {
            producer_id: max((o for o, row in self.markers.items() if row[0] == producer_id), default=-1)
            for producer_id in PRODUCERS
        }
        records = self.records.items()
        open_offsets = (offset for offset, row in records if row.producer_id >= 0 and offset > ended[row.producer_id])
        return [*open_offsets, self.log.log_end_offset]

    def check(self) -> None:
        log, committed = self.log, self.committed()
        assert log.online
        assert log.last_stable_offset <= min(o for o in self.open_offsets() if o >= log.log_start_offset)
        assert log.body.compacted_to <= log.last_stable_offset
        for max_bytes in (1, 500, 1 << 20):
            view = committed_view(log, log.log_start_offset, max_bytes)
            assert list(view) == sorted(view)
            assert view.items() <= {offset: (row.key, row.value) for offset, row in committed.items()}.items()
            assert table(view.values()) == table((row.key, row.value) for row in committed.values())
        for offset in range(log.log_start_offset, log.last_stable_offset, 3):
            rest = {at: row for at, row in view.items() if at >= offset}
            assert committed_view(log, offset, 200) == rest

    def check_replica(self, folder: Path) -> None:
        """A follower that fetches the whole log has the same transactions."""
        log = self.log
        follower = new_log(folder, CONFIG)
        follower.truncate_fully_and_start_at(log.log_start_offset)
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            piece = log.read(offset, 1 << 20)
            if not len(piece):
                break
            assert not isinstance(piece.records, bytes)
            data = piece.records.read()
            for header in iter_batch_headers(data, allow_partial_tail=True):
                follower.append_as_follower(data[header.position : header.position + header.size_bytes])
                offset = header.next_offset
            follower.flush_appends()
        follower.high_watermark = follower.log_end_offset
        log.high_watermark = log.log_end_offset
        end, seen = log.last_stable_offset, committed_view(follower, log.log_start_offset, 1 << 20)
        if end == log.log_start_offset:  # a replica does not know a transaction whose first records were deleted
            assert follower.last_stable_offset >= end
            seen = {}
        else:
            assert follower.last_stable_offset == end
        assert seen == committed_view(log, log.log_start_offset, 1 << 20)
        follower.body.close_files()


def committed_view(log: Log, offset: int, max_bytes: int) -> dict[int, tuple[str, str | None]]:
    """What a consumer with isolation level read_committed gets: key and value by offset."""
    view: dict[int, tuple[str, str | None]] = {}
    position, end_offset = offset, log.last_stable_offset
    while position < end_offset:
        piece = log.read(position, max_bytes, end_offset)
        if not len(piece):
            break
        assert not isinstance(piece.records, bytes)
        coming = sorted((row.first_offset, row.producer_id) for row in log.aborted_transactions(position, piece))
        data = memoryview(piece.records.read())
        aborted: set[int] = set()
        start = position
        for header in iter_batch_headers(data, allow_partial_tail=True):
            while coming and coming[0][0] <= header.last_offset:
                aborted.add(coming.pop(0)[1])
            position = header.next_offset
            if header.is_control:
                ending = read_marker(data[header.position : header.position + header.size_bytes])
                if ending is not None and not ending.is_commit:
                    aborted.discard(header.producer_id)
            elif not header.is_transactional or header.producer_id not in aborted:
                for record in records_of(data, header):
                    if record.offset >= start:
                        assert record.key is not None
                        value = None if record.value is None else record.value.decode()
                        view[record.offset] = record.key.decode(), value
    return view


def table(rows: Any) -> dict[str, str]:
    """The last value of each key. A deleted key is none."""
    return {key: value for key, value in dict(rows).items() if value is not None}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(actions, min_size=10, max_size=60))
def test_committed_records_after_compaction(history: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = History(Path(folder) / "log")
        for action, first, second in history:
            getattr(run, action)(first, second)
            run.check()
        run.log.high_watermark = run.log.log_end_offset
        run.log.roll()
        for _ in range(3):
            run.compact(None, 100)
            run.check()
            run.write_plain(None, {"z": True})
            run.log.high_watermark = run.log.log_end_offset
            run.log.roll()
            run.advance(False, None)
        run.check_replica(Path(folder) / "replica")
        run.restart(0, "none")
        run.check()
        run.compacted.kill()
        run.log.body.close_files()
