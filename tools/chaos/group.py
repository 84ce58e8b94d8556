"""Consumers: a consumer group during the run (at least once, commits its offsets), one plain consumer at its end."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from tools.chaos.ledger import RecordId, decode_record_id

SETTINGS: dict[str, Any] = {
    "auto.offset.reset": "earliest",
    "socket.connection.setup.timeout.ms": 3_000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "fetch.wait.max.ms": 200,
    "fetch.error.backoff.ms": 100,
    "log_level": 2,
}

Decoded = TypeVar("Decoded")
Seen = dict[tuple[int, int], RecordId]  # by partition and offset


class GroupMember:
    """One member in one thread. `seen` may be read while it runs."""

    def __init__(self, name: str, bootstrap: str, topic: str, session_timeout_ms: int = 6_000) -> None:
        from confluent_kafka import Consumer

        self.name = name
        self.seen: Seen = {}
        self.contradictions: list[str] = []
        self.repeated = 0
        self._consumer = Consumer(
            {
                **SETTINGS,
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "group.id": "chaos-readers",
                "session.timeout.ms": session_timeout_ms,
                "auto.commit.interval.ms": 500,
                "topic.metadata.refresh.interval.ms": 5_000,
            }
        )
        self._consumer.subscribe([topic])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Joins the group and consumes."""
        self._thread.start()

    def stop(self, timeout_s: float = 30.0) -> bool:
        """Leaves the group. True if the client ended in that time: librdkafka waits without a deadline, and after many
        changes of leaders and coordinators sometimes in vain. `seen` stays."""
        self._stopping.set()
        self._thread.join()
        leaving = threading.Thread(target=self._consumer.close, name="leaving", daemon=True)
        leaving.start()
        leaving.join(timeout_s)
        return not leaving.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(1_000, 0.1):
                value = message.value()
                if message.error() is None and value is not None:
                    self._take((int(message.partition() or 0), int(message.offset() or 0)), decode_record_id(value))

    def _take(self, place: tuple[int, int], record: RecordId) -> None:
        before = self.seen.setdefault(place, record)
        if before is not record:
            self.repeated += 1
            if before != record:
                self.contradictions.append(f"{place} held {before} and later {record}")


def read_everything(
    bootstrap: str, topic: str, partitions: int, timeout_s: float
) -> dict[int, list[tuple[int, RecordId]]]:
    """Every record of the topic, offset and id, partition by partition in the order of the log. TimeoutError."""
    return read_to_end(bootstrap, topic, partitions, timeout_s, decode_record_id)


def read_to_end(
    bootstrap: str,
    topic: str,
    partitions: int,
    timeout_s: float,
    decode: Callable[[bytes], Decoded],
    isolation_level: str = "read_committed",
) -> dict[int, list[tuple[int, Decoded]]]:
    """The same for any topic: offset and what `decode` makes of the value. TimeoutError."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {**SETTINGS, "bootstrap.servers": bootstrap, "group.id": "chaos-check", "enable.partition.eof": True}
        | {"enable.auto.commit": False, "client.id": "chaos-check", "isolation.level": isolation_level}
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    found: dict[int, list[tuple[int, Decoded]]] = defaultdict(list)
    unfinished = set(range(partitions))
    deadline = time.monotonic() + timeout_s
    try:
        while unfinished:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"partitions {sorted(unfinished)} could not be read to their end in {timeout_s:.0f} s"
                )
            for message in consumer.consume(10_000, 0.5):
                error, value = message.error(), message.value()
                partition = int(message.partition() or 0)
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(partition)
                elif error is None and value is not None:
                    found[partition].append((int(message.offset() or 0), decode(value)))
    finally:
        consumer.close()
    return found
