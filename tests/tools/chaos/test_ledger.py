"""Record ids and times of acknowledgements."""

from __future__ import annotations

import pytest
from tools.chaos.ledger import Ledger, RecordId, decode_record_id, longest_silences


def test_a_record_knows_its_name() -> None:
    record = RecordId(2, 1_000_001)
    assert decode_record_id(record.encode() + b"padding with spaces") == record


def test_what_was_acknowledged_and_what_was_rejected() -> None:
    ledger = Ledger()
    ledger.acknowledge(RecordId(0, 0), 4, 17, 1.0)
    ledger.reject(RecordId(0, 1), "no")
    assert ledger.acknowledged == {RecordId(0, 0): (4, 17)}
    assert ledger.times[4] == [1.0]
    assert ledger.rejected == ["RecordId(producer=0, number=1): no"]


class Delivered:
    """The message that a client passes to a delivery callback."""

    def partition(self) -> int:
        return 4

    def offset(self) -> None:
        """None: the broker had stored the record already."""


def test_delivery_callbacks_write_it_down() -> None:
    ledger = Ledger()
    ledger.reported(RecordId(0, 0))(None, Delivered())
    ledger.reported(RecordId(0, 1))("no", None)
    assert ledger.acknowledged == {RecordId(0, 0): (4, -1)}
    assert ledger.rejected == ["RecordId(producer=0, number=1): no"]


def test_the_silence_that_touches_a_fault_counts_whole() -> None:
    steady = [number / 10 for number in range(100)]
    gap = [time for time in steady if not 2.05 < time < 4.95]
    assert longest_silences([steady, gap], 3.0, 4.0) == pytest.approx([3.0, 0.1])
    assert longest_silences([gap], 7.0, 8.0) == pytest.approx([0.1])
    assert longest_silences([[]], 0.0, 1.0) == [0.0]
