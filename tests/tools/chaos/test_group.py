"""The members of one group read all records between them; a plain reader stops at the end offset."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from tools.chaos.group import GroupMember, read_everything
from tools.chaos.ledger import RecordId

from tests.tools.chaos.conftest import PARTITIONS
from tests.waiting import until

COUNT = 60


def fill(bootstrap: str, topic: str) -> set[RecordId]:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    records = {RecordId(0, number) for number in range(COUNT)}
    for record in sorted(records, key=lambda each: each.number):
        producer.produce(topic, record.encode() + b"-", partition=record.number % PARTITIONS)
    assert producer.flush(20) == 0
    return records


def test_a_group_sees_everything(signalbox_bootstrap: str, topic: str) -> None:
    records = fill(signalbox_bootstrap, topic)
    members = [GroupMember(f"{topic}-{number}", signalbox_bootstrap, topic) for number in range(2)]
    for member in members:
        member.start()
    until(lambda: sum(len(member.seen) for member in members) >= COUNT, "all records are seen")
    assert [member.stop() for member in members] == [True, True]
    assert {record for member in members for record in member.seen.values()} == records
    assert [text for member in members for text in member.contradictions] == []


def test_everything_is_read_in_the_order_of_the_log(signalbox_bootstrap: str, topic: str) -> None:
    records = fill(signalbox_bootstrap, topic)
    found = read_everything(signalbox_bootstrap, topic, PARTITIONS, 20)
    assert {record for rows in found.values() for _, record in rows} == records
    for partition, rows in found.items():
        assert [offset for offset, _ in rows] == list(range(len(rows)))
        assert [record.number % PARTITIONS for _, record in rows] == [partition] * len(rows)


def test_a_topic_that_is_not_there_cannot_be_read_to_its_end(signalbox_bootstrap: str) -> None:
    with pytest.raises(TimeoutError, match=r"partitions \[0, 1\]"):
        read_everything(signalbox_bootstrap, "chaos-nowhere", 2, 0.5)
