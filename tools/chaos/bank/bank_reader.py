"""Consumers that read a bank's topic while the run lasts, one at each isolation level."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from tools.chaos.bank.history import Reading
from tools.chaos.bank.transfer import PARTITIONS, decode_entry
from tools.chaos.clients import made_yielding
from tools.chaos.group import SETTINGS

READER_SETTINGS: dict[str, Any] = {**SETTINGS, "enable.auto.commit": False, "auto.offset.reset": "error"}
"""A reader that loses its place reports an error: it must not begin again in silence."""
_AT_A_TIME = 1_000
_POLL_INTERVAL_S = 0.05


def assign_all(consumer: Any, topic: str) -> None:
    """All partitions from their first record on."""
    from confluent_kafka import TopicPartition

    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])


class BankReader:
    """One consumer in one thread. `reading` may be read when it has ended."""

    def __init__(self, bootstrap: str, topic: str, isolation_level: str) -> None:
        from confluent_kafka import Consumer

        self.reading = Reading(f"the {isolation_level} reader", isolation_level == "read_committed")
        self.errors: list[str] = []
        settings = READER_SETTINGS | {
            "bootstrap.servers": bootstrap,
            "group.id": f"bank-{isolation_level}",
            "isolation.level": isolation_level,
        }
        self._consumer = made_yielding(lambda: Consumer(settings))
        assign_all(self._consumer, topic)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.reading.name, daemon=True)

    def start(self) -> None:
        """Begins to read."""
        self._thread.start()

    def stop(self, ends: Mapping[int, int], timeout_s: float) -> bool:
        """Ends the reading when it got the last offset of each partition; False if it did not in that time."""
        deadline = time.monotonic() + timeout_s
        while not (is_at_end := self._is_at(ends)) and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL_S)
        self._stopping.set()
        self._thread.join()
        self._consumer.close()
        return is_at_end

    def _is_at(self, ends: Mapping[int, int]) -> bool:
        rows = self.reading.rows
        return all(rows[partition] and rows[partition][-1][0] >= end for partition, end in ends.items())

    def _run(self) -> None:
        from confluent_kafka import KafkaError

        while not self._stopping.is_set():
            for message in self._consumer.consume(_AT_A_TIME, 0.1):
                error = message.error()
                if error is None:
                    place = (int(message.offset() or 0), decode_entry(message.value() or b""))
                    self.reading.rows[int(message.partition() or 0)].append(place)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    self.errors.append(f"{self.reading.name} lost its place: {error.str()}")
