"""Bank transfers in transactions, between random kills, elections and cut connections: each one is there whole or not
at all, in order, and no reader of committed records gets anything else.

`tools/chaos/bank/bank_check.py` decides, as it does for real brokers.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.chaos.bank.bank_check import check_bank
from tools.chaos.bank.transfer import PARTITIONS

from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.replication.partition import Partition
from signalbox.storage.log import Log
from tests.replication import memory_bank
from tests.replication.fault_history import faults
from tests.replication.memory_bank import PRODUCERS, BankRun

pytestmark = pytest.mark.spec("D5")

producers = st.integers(0, PRODUCERS - 1)
transfers = st.tuples(st.just("transfer"), producers, st.none())
ends = st.tuples(st.just("end"), producers, st.sampled_from([True, True, False]))
reads = st.tuples(st.just("read"), st.integers(0, PARTITIONS - 1), st.none())
markers = st.tuples(st.just("send_markers"), st.none(), st.none())
actions = st.one_of(transfers, transfers, ends, reads, markers, faults(PARTITIONS), faults(PARTITIONS))


@given(st.lists(actions, min_size=10, max_size=60))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_transactions_are_whole(history: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = BankRun(Path(folder))
        for action in history:
            run.do(action)
        check = check_bank(run.settle())
        run.close()
    assert check.examples == ()


def commit_one_and_leave_one_open(run: BankRun) -> None:
    """Producer 0 commits a transfer, producer 1 has sent one; both readers have read everything that they may."""
    run.transfer(0)
    run.run()
    run.end(0, True)
    run.run()
    run.transfer(1)
    run.run()
    for index in range(PARTITIONS):
        run.read(index)


def test_a_history_without_faults(tmp_path: Path) -> None:
    run = BankRun(tmp_path)
    commit_one_and_leave_one_open(run)
    assert [len({entry for rows in reading.rows.values() for _, entry in rows}) for reading in run.bank.readings] == [
        3,
        6,
    ]
    run.end(1, False)
    check = check_bank(run.settle())
    assert (check.committed, check.aborted, check.examples) == (1, 1, ())
    run.close()


def test_readers_that_pass_the_last_stable_offset_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "last_stable_offset", Partition.high_watermark)
    monkeypatch.setattr(Log, "last_stable_offset", property(lambda log: log.high_watermark))
    run = BankRun(tmp_path)
    commit_one_and_leave_one_open(run)
    run.end(1, False)
    check = check_bank(run.settle())
    assert check.counts["G1a"] == check.counts["phantom"] == 3
    run.close()


def test_a_marker_that_says_abort_in_one_partition_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = iter([False])

    def first_one_aborts(producer_id: int, epoch: int, marker: TransactionMarker, timestamp_ms: int) -> bytes:
        marker = TransactionMarker(next(results, marker.is_commit), marker.coordinator_epoch)
        return encode_marker(producer_id, epoch, marker, timestamp_ms)

    monkeypatch.setattr(memory_bank, "encode_marker", first_one_aborts)
    run = BankRun(tmp_path)
    run.transfer(0)
    run.run()
    run.end(0, True)
    assert check_bank(run.settle()).counts["partial"] == 1
    run.close()
