"""Compaction of transactions in a real broker (SPEC D5, D6): what librdkafka reads at both isolation levels, and a
coordinator that has loaded a compacted `__transaction_state`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.common.internal_topics import TRANSACTIONS_TOPIC
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.waiting import until

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow, pytest.mark.spec("D5"), pytest.mark.spec("D6")]

TOPIC, KEYS, TRANSACTIONS, RECORDS = "accounts", 40, 80, 10
SETTINGS: Mapping[str, str] = {
    **QUICK,
    "log.cleaner.backoff.ms": "20",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.segment.bytes": "4000",
}
COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.bytes": "20000",
    "index.interval.bytes": "1000",
    "min.cleanable.dirty.ratio": "0.05",
    "file.delete.delay.ms": "0",
    "delete.retention.ms": "100",
}


class Accounts:
    """A compacted topic, and the last committed value of each key. Values that are aborted are negative."""

    def __init__(self, cluster: ProcessCluster) -> None:
        self.cluster = cluster
        self.committed: dict[str, int] = {}
        self.written = self.aborted = 0
        self._numbers = count(1)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
        admin.create_topics([NewTopic(TOPIC, 1, 1, config=dict(COMPACTED))], operation_timeout=20)[TOPIC].result(30)

    def producer(self, transactional_id: str) -> Producer:
        settings = {"transactional.id": transactional_id, "linger.ms": 0, "log_level": 2}
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap(), **settings})
        producer.init_transactions(60)
        return producer

    def run_transaction(self, producer: Producer, *, commit: bool) -> None:
        producer.begin_transaction()
        for number in (next(self._numbers) for _ in range(RECORDS)):
            key, value = f"k{number * 7 % KEYS}", number if commit else -number
            producer.produce(TOPIC, f"{value} ".ljust(200, "."), key)
            self.written += 1
            if commit:
                self.committed[key] = value
            else:
                self.aborted += 1
        producer.flush(60)  # an abort discards what was not sent
        (producer.commit_transaction if commit else producer.abort_transaction)(60)

    def read(self, isolation_level: str) -> list[tuple[str, int]]:
        """All records up to the end, in order."""
        consumer = Consumer(
            {"bootstrap.servers": self.cluster.bootstrap(), "group.id": "none", "log_level": 2, "check.crcs": True,
             "enable.auto.commit": False, "enable.partition.eof": True, "isolation.level": isolation_level}
        )  # fmt: skip
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        rows: list[tuple[str, int]] = []
        while True:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                consumer.close()
                return rows
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            rows.append((key.decode(), int(value.split()[0])))

    def check(self) -> None:
        """Readers of committed records get the last value of each key, and no aborted record."""
        rows = self.read("read_committed")
        assert dict(rows) == self.committed
        assert all(value > 0 for _, value in rows)
        assert len(rows) < (self.written - self.aborted) / 2
        uncommitted = self.read("read_uncommitted")
        assert set(rows) <= set(uncommitted)
        assert sum(value < 0 for _, value in uncommitted) < self.aborted / 2


def cleaned_to(folder: Path, topic: str) -> int:
    """Up to which offset a log is clean, by the checkpoint."""
    path = folder / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic} 0 ")), 0)


def base_of_active(folder: Path, topic: str) -> int:
    """Where the active segment of a log begins."""
    return max(int(path.stem) for path in (folder / f"{topic}-0").glob("*.log"))


def test_both_isolation_levels_and_the_coordinator_after_compactions(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 1, overrides=SETTINGS) as cluster:
        folder = cluster.brokers[1].folder / "data"
        accounts = Accounts(cluster)
        producers = [accounts.producer(f"writer-{number}") for number in range(2)]
        for number in range(TRANSACTIONS):
            accounts.run_transaction(producers[number % 2], commit=number % 3 > 0)
        for topic in (TOPIC, TRANSACTIONS_TOPIC):
            assert base_of_active(folder, topic) > 0
        until(lambda: cleaned_to(folder, TOPIC) == base_of_active(folder, TOPIC), "a clean topic")
        accounts.check()
        assert cleaned_to(folder, TRANSACTIONS_TOPIC) > 0
        sizes = [path.stat().st_size for path in (folder / f"{TRANSACTIONS_TOPIC}-0").glob("*.log")]
        assert sum(sizes) < 12_000  # of about 40,000
        cluster.kill(1)
        cluster.start_broker(1)
        accounts.check()
        successor = accounts.producer("writer-0")  # with the next epoch, which the coordinator has loaded
        accounts.run_transaction(successor, commit=True)
        accounts.run_transaction(producers[1], commit=True)
        with pytest.raises(KafkaException) as fenced:
            run_fenced(producers[0])
        assert fenced.value.args[0].fatal()
        assert dict(accounts.read("read_committed")) == accounts.committed


def run_fenced(producer: Producer) -> None:
    """A transaction of a producer that has a successor."""
    producer.begin_transaction()
    producer.produce(TOPIC, "0", "fenced")
    producer.commit_transaction(60)
