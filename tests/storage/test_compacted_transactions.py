"""Rounds of a log with aborted transactions: markers, entries of the transaction index, snapshots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.storage.producers.producer_state import NO_OFFSET
from tests.storage.cleaner.cleaning import COMPACTED, CompactedLog, keyed, marker, records_in

pytestmark = pytest.mark.spec("D5", "D6")


def test_no_snapshot_has_a_transaction_open_whose_marker_is_gone(tmp_path: Path) -> None:
    config = replace(COMPACTED, segment_bytes=200, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0)
    log = CompactedLog(tmp_path, config)
    log.append(keyed({"a": "x" * 60}), keyed({"b": "aborted"}, producer=(7, 0, 0), transactional=True))
    log.append(keyed({"c": "x" * 50}), marker(7, commit=False))  # the snapshot at offset 2 is from before it
    log.log.expire_producers(log.clock.now_ms() + 1, 1)
    for number in range(3):
        log.append(keyed({f"z{number}": "x" * 100}))
        log.clock.advance(1)
        assert log.clean()
    assert log.offsets()[:3] == [0, 2, 4]
    log.kill()
    for path in list(tmp_path.rglob("*.snapshot")):
        if int(path.stem) > 2:
            path.write_bytes(b"corrupt")
    log.open()
    assert log.log.last_stable_offset == log.log.log_end_offset


def test_the_snapshot_of_a_clean_shutdown_is_no_exception(tmp_path: Path) -> None:
    """It is inside a segment, and the newest one below the active segment once the others are gone."""
    log = CompactedLog(tmp_path, replace(COMPACTED, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0))
    log.append(keyed({"b": "aborted"}, producer=(7, 0, 0), transactional=True), keyed({"a": "1"}), roll=False)
    log.log.close()
    log.kill()
    log.open()
    assert [path.stem for path in tmp_path.rglob("*.snapshot")] == [f"{2:020}"]
    log.append(marker(7, commit=False))
    assert log.clean()
    assert [path.stem for path in tmp_path.rglob("*.snapshot")] == [f"{log.log.body.segments.active.base_offset:020}"]


def test_the_transaction_index_has_what_a_marker_is_needed_for(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path, replace(COMPACTED, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0))
    log.append(keyed({"a": "1"}, producer=(7, 0, 0), transactional=True), roll=False)
    log.append(keyed({"b": "1"}, producer=(8, 0, 0), transactional=True), roll=False)
    log.append(marker(7, commit=False), marker(8, commit=False), roll=False)
    log.append(keyed({"a": "2"}, producer=(7, 0, 1)))  # the last batch of producer 7
    found = []
    for _ in range(3):
        assert log.clean()
        index = log.log.body.transaction_index(log.log.body.segments[0])
        found.append([(transaction.producer_id, transaction.first_offset) for transaction in index])
        assert [path.stem for path in tmp_path.rglob("*.txnindex")] == [f"{0:020}"]
        log.append(keyed({"z": "1"}))
        log.clock.advance(1)
    assert found == [[(7, 0), (8, 1)], [(8, 1)], [(8, 1)]]
    log.log.expire_producers(log.clock.now_ms() + 1, 1)
    for _ in range(2):
        assert log.clean()
        log.append(keyed({"z": "1"}))
    assert not list(tmp_path.rglob("*.txnindex"))
    assert log.log.last_stable_offset == log.log.log_end_offset


def test_an_emptied_batch_of_an_aborted_transaction_keeps_its_marker(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path, replace(COMPACTED, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0))
    log.append(keyed({"a": "aborted"}, producer=(7, 0, 0), transactional=True), marker(7, commit=False))
    for _ in range(4):
        log.append(keyed({"z": "1"}))
        log.clock.advance(1)
        assert log.clean()
    assert log.offsets()[0] == 1  # the marker
    log.kill()
    for name in tmp_path.rglob("*.snapshot"):
        name.unlink()
    log.open()
    assert log.log.producers[7].last_offset == 0
    assert log.log.producers[7].transaction_first_offset == NO_OFFSET


def test_aborted_records_are_removed_and_do_not_replace_others(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path, replace(COMPACTED, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0))
    log.append(keyed({"a": "1", "b": "1"}))
    log.append(keyed({"a": "aborted"}, producer=(7, 0, 0), transactional=True), marker(7, commit=False))
    log.append(keyed({"b": "2"}, producer=(7, 0, 1), transactional=True), marker(7, commit=True))
    assert log.clean()
    assert log.offsets() == [0, 3, 4, 5]  # a=1, the abort marker, b=2, the commit marker
    for _ in range(3):
        log.append(keyed({"z": "1"}))
        log.clock.advance(1)
        assert log.clean()
    assert log.offsets()[:3] == [0, 4, 5]  # no batch of the aborted transaction was left: nor is its marker
    assert {b.key: b.value for b in records_in(log.log) if b.offset in (0, 4)} == {b"a": b"1", b"b": b"2"}
