"""The same check in one process: brokers of a `testing.Cluster` stop and start while records are in flight.

Hypothesis chooses the brokers, the order and the number of records in between; a failing case shrinks to a short one.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.chaos.clients import SETTINGS
from tools.chaos.group import read_everything
from tools.chaos.ledger import Ledger, RecordId
from tools.chaos.record_check import check_records
from tools.chaos.replicas import compare_replicas

from signalbox.testing.cluster import Cluster

TOPIC, PARTITIONS = "story", 3


@dataclass(frozen=True)
class Absence:
    """`sent_before` records, then the broker stops; `sent_without` records, then it starts again."""

    sent_before: int
    broker: int
    sent_without: int


STORIES = st.lists(
    st.builds(Absence, st.integers(0, 60), st.sampled_from([1, 2, 3]), st.integers(0, 60)), min_size=1, max_size=4
)


class Sender:
    """Sends numbered records; `settle` waits for all acknowledgements."""

    def __init__(self, bootstrap: str) -> None:
        self.ledger = Ledger()
        self.sent = 0
        self._producer = Producer({**SETTINGS, "bootstrap.servers": bootstrap})

    def send(self, count: int) -> None:
        for _ in range(count):
            record = RecordId(0, self.sent)
            self.sent += 1
            self._producer.produce(
                TOPIC,
                record.encode() + b"-",
                partition=record.number % PARTITIONS,
                on_delivery=partial(self._on_delivery, record),
            )
            self._producer.poll(0)

    def settle(self) -> int:
        return int(self._producer.flush(60))

    def _on_delivery(self, record: RecordId, error: Any, message: Any) -> None:
        if error is None:
            self.ledger.acknowledge(record, message.partition(), message.offset(), time.monotonic())
        else:
            self.ledger.reject(record, str(error))


def tell(story: list[Absence], cluster: Cluster) -> Sender:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    new = NewTopic(TOPIC, PARTITIONS, replication_factor=3, config={"min.insync.replicas": "2"})
    admin.create_topics([new])[TOPIC].result(20)
    sender = Sender(cluster.bootstrap_servers)
    for absence in story:
        sender.send(absence.sent_before)
        cluster.stop_broker(absence.broker)
        sender.send(absence.sent_without)
        cluster.start_broker(absence.broker)
    assert sender.settle() == 0
    return sender


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(STORIES)
def test_brokers_stop_and_start_without_lost_duplicated_or_moved_records(story: list[Absence]) -> None:
    with tempfile.TemporaryDirectory(prefix="signalbox-story-") as name:
        folder = Path(name)
        with Cluster(3, folder) as cluster:
            sender = tell(story, cluster)
            found = read_everything(cluster.bootstrap_servers, TOPIC, PARTITIONS, 30)
        seen = {(partition, offset): record for partition, rows in found.items() for offset, record in rows}
        check = check_records(sender.ledger.acknowledged, found, seen)
        comparison = compare_replicas({f"broker-{number}": folder / f"broker-{number}" for number in (1, 2, 3)})
    assert sender.ledger.rejected == []
    assert len(sender.ledger.acknowledged) == sender.sent
    assert check.examples == ()
    assert comparison.differences == ()
