"""Topics for tests, through confluent-kafka."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

_numbers = itertools.count()


class Topics:
    """A cluster's topics: created with new names, filled, deleted."""

    def __init__(self, bootstrap: str, replicas: int = 1) -> None:
        self.bootstrap = bootstrap
        self._replicas = replicas
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, prefix: str, partitions: int = 2, **configs: str) -> str:
        """A topic with an unused name, ready to be read."""
        name = f"{prefix}-{next(_numbers)}"
        self.create_named(name, partitions, **configs)
        return name

    def create_named(self, name: str, partitions: int = 2, **configs: str) -> None:
        """A topic with this name."""
        deadline = time.monotonic() + 30
        while True:
            topic = NewTopic(name, partitions, self._replicas, config=configs)
            (created,) = self._admin.create_topics([topic]).values()
            try:
                created.result(30)
                break
            except KafkaException as fault:
                if "marked for deletion" not in fault.args[0].str() or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)
        self._wait_for_leaders(name, partitions)

    def _wait_for_leaders(self, name: str, partitions: int) -> None:
        deadline = time.monotonic() + 30
        while True:
            found = self._admin.list_topics(name, timeout=10).topics[name].partitions.values()
            if sum(partition.leader >= 0 for partition in found) == partitions:
                return
            assert time.monotonic() < deadline, f"topic {name} has no leaders: {found}"
            time.sleep(0.02)

    def delete(self, name: str) -> None:
        """Deletes a topic."""
        (deleted,) = self._admin.delete_topics([name]).values()
        deleted.result(30)

    def delete_records(self, name: str, before_offset: int, partition: int = 0) -> None:
        """Deletes the records before an offset, as retention does."""
        (deleted,) = self._admin.delete_records([TopicPartition(name, partition, before_offset)]).values()
        deleted.result(30)

    def add_partitions(self, name: str, total: int) -> None:
        """Adds partitions to a topic."""
        (grown,) = self._admin.create_partitions([NewPartitions(name, total)]).values()
        grown.result(30)
        self._wait_for_leaders(name, total)

    def fill(self, name: str, values: Iterable[bytes | None], **settings: Any) -> None:
        """Appends values, round robin over two keys."""
        self.fill_records(
            name, ((f"k{index % 2}".encode(), value, None) for index, value in enumerate(values)), **settings
        )

    def fill_records(
        self,
        name: str,
        records: Iterable[tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]] | None]],
        **settings: Any,
    ) -> None:
        """Appends (key, value, headers) records and waits until all are acknowledged."""
        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "linger.ms": 20, "log_level": 0, "acks": "all", **settings}
        )
        failures: list[Any] = []
        for key, value, headers in records:
            producer.produce(
                name,
                key=key,
                value=value,
                headers=list(headers) if headers else None,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
            producer.poll(0)
        producer.flush(60)
        assert failures == []

    def fill_at(self, name: str, value: bytes, time_ms: int) -> None:
        """Appends a record with this timestamp."""
        failures: list[Any] = []
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, "acks": "all"})
        producer.produce(
            name,
            value,
            timestamp=time_ms,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
        producer.flush(60)
        assert failures == []


def json_values(start: int, stop: int) -> list[bytes]:
    """Small JSON objects with the number `n`."""
    return [json.dumps({"n": number, "text": f"row {number}"}).encode() for number in range(start, stop)]
