"""Complete audit trails: sequence numbers from 0, without gap or repeat."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.pipeline.audit.sequence_check import writer_sequences

pytestmark = pytest.mark.spec("P1")


def row(broker_id: int, events: int, first_seq: int, last_seq: int, broker_epoch: int = 1) -> dict[str, Any]:
    spans = {"first_seq": first_seq, "last_seq": last_seq}
    return {"broker_id": broker_id, "broker_epoch": broker_epoch, "events": events, **spans}


def gap(broker_id: int, from_seq: int, to_seq: int) -> dict[str, Any]:
    return {"broker_id": broker_id, "broker_epoch": 1, "from_seq": from_seq, "to_seq": to_seq}


def test_a_sequence_from_zero_without_a_gap_is_complete() -> None:
    (sequence,) = writer_sequences([row(1, 10, 0, 9)], [])
    assert sequence.complete
    assert (sequence.missing, sequence.duplicates) == (0, 0)


def test_gaps_belong_to_their_writer_and_are_counted() -> None:
    sequences = writer_sequences([row(2, 10, 0, 9), row(1, 7, 0, 9)], [gap(1, 8, 8), gap(1, 3, 4)])
    assert [(sequence.broker_id, sequence.complete, sequence.missing) for sequence in sequences] == [
        (1, False, 3),
        (2, True, 0),
    ]
    assert sequences[0].gaps == [(3, 4), (8, 8)]


def test_a_sequence_that_does_not_begin_at_zero_is_not_complete() -> None:
    (sequence,) = writer_sequences([row(1, 5, 5, 9)], [])
    assert not sequence.complete
    assert sequence.missing == 0


def test_a_sequence_with_a_repeated_event_is_not_complete() -> None:
    (sequence,) = writer_sequences([row(1, 12, 0, 9)], [])
    assert not sequence.complete
    assert sequence.duplicates == 2


def test_each_broker_epoch_is_a_sequence_of_its_own() -> None:
    sequences = writer_sequences([row(1, 3, 0, 2, broker_epoch=9), row(1, 3, 0, 2, broker_epoch=4)], [])
    assert [sequence.broker_epoch for sequence in sequences] == [4, 9]
    assert sequences[0].as_json()["whole"] is True
