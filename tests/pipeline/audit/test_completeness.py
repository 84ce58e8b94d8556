"""An audit trail that is not complete says so, and why."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from signalbox.pipeline.audit.completeness import completeness_findings
from signalbox.pipeline.audit.sequence_check import writer_sequences

pytestmark = pytest.mark.spec("P1")


def counts_of(seqs: list[int], *, unread: int = 0, topic_records: int | None = -1, dead: int = 0) -> dict[str, Any]:
    """The completeness of an audit trail of one broker; by default the topic has as many records."""
    distinct = sorted(set(seqs))
    gaps = [
        {"broker_id": 1, "broker_epoch": 7, "from_seq": before + 1, "to_seq": after - 1}
        for before, after in pairwise(distinct)
        if after - before > 1
    ]
    row = {"broker_id": 1, "broker_epoch": 7, "events": len(seqs)}
    rows = [{**row, "first_seq": distinct[0], "last_seq": distinct[-1]}] if seqs else []
    return {
        "table_rows": len(seqs),
        "dead_rows": dead,
        "topic_records": len(seqs) + dead if topic_records == -1 else topic_records,
        "unread_records": unread,
        "brokers": [sequence.as_json() for sequence in writer_sequences(rows, gaps)],
    }


def test_a_complete_audit_trail_has_no_findings() -> None:
    assert completeness_findings(counts_of([0, 1, 2, 3])) == []


@pytest.mark.parametrize(
    ("completeness", "findings"),
    [
        (counts_of([]), ["the audit trail is empty: no broker has an event in the tables"]),
        (
            counts_of(list(range(50, 60))),
            ["broker 1 epoch 7 begins at seq 50: 50 events before it are missing"],
        ),
        (counts_of([0, 1, 1, 2, 2]), ["broker 1 epoch 7 has 2 events more than once"]),
        (counts_of([0, 2, 6]), ["broker 1 epoch 7 lacks 4 events: seq 1, 3 to 5"]),
        (
            counts_of(list(range(0, 16, 2))),
            ["broker 1 epoch 7 lacks 7 events: seq 1, 3, 5, 7, 9 and 2 more gaps"],
        ),
        (counts_of([0, 1], topic_records=5), ["2 events in the tables, 5 records in the topic"]),
        (
            counts_of([0, 1], topic_records=None),
            ["2 events in the tables, and no run with this checkpoint location has counted those of the topic"],
        ),
        (
            {**counts_of([0, 1]), "table_rows": 3, "topic_records": 3},
            ["3 events in the tables, 2 in the sequences of the brokers"],
        ),
        (counts_of([0, 1], unread=1_000), ["1,000 records of the topic are unread"]),
        (
            counts_of([51, 51, 53]),
            [
                "broker 1 epoch 7 begins at seq 51: 51 events before it are missing",
                "broker 1 epoch 7 lacks 1 events: seq 52",
                "broker 1 epoch 7 has 1 events more than once",
            ],
        ),
    ],
)
def test_each_fault_is_a_sentence(completeness: dict[str, Any], findings: list[str]) -> None:
    assert completeness_findings(completeness) == findings
