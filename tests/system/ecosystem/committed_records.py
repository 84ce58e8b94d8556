"""Reads topics while a program writes them, or up to their ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Self

from confluent_kafka import Consumer, TopicPartition

from tests.waiting import until

READ_S = 120.0

Row = tuple[str, bytes]
"""Key and value; "" for no key."""


class CommittedRecords:
    """`found` has the records of each topic; those of a partition are in order."""

    def __init__(self, bootstrap: str, topics: Mapping[str, int], isolation: str = "read_committed") -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "-".join(topics),
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "fetch.queue.backoff.ms": 5,
                "log_level": 2,
            }
        )
        partitions = [TopicPartition(topic, index, 0) for topic, count in topics.items() for index in range(count)]
        self._consumer.assign(partitions)
        self._partitions = len(partitions)
        self._at_end: set[tuple[str | None, int | None]] = set()
        self.found: dict[str, list[Row]] = {topic: [] for topic in topics}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def count(self) -> int:
        """The records that were read so far."""
        return sum(map(len, self.found.values()))

    def reads(self, count: int, within_s: float = READ_S) -> bool:
        """Reads until there are at least so many records; False if they are not there in time."""
        deadline = time.monotonic() + within_s
        while self._read().count() < count:
            if time.monotonic() > deadline:
                return False
        return True

    def read_until(self, count: int) -> None:
        """Returns when at least so many records are read."""
        assert self.reads(count), f"only {self.count()} of {count} records of {', '.join(self.found)}"

    def read_to_end(self) -> None:
        """Returns when the end of each partition was reached once."""
        until(lambda: len(self._read()._at_end) == self._partitions, f"the ends of {', '.join(self.found)}")

    def _read(self) -> Self:
        for message in self._consumer.consume(1_000, 0.2):
            error, topic = message.error(), str(message.topic())
            if error is None:
                key, value = message.key(), message.value()
                self.found[topic].append((key.decode() if key else "", value or b""))
            elif error.name() == "_PARTITION_EOF":
                self._at_end.add((topic, message.partition()))
        return self


def committed(bootstrap: str, topics: Mapping[str, int], isolation: str = "read_committed") -> dict[str, list[Row]]:
    """The records of each topic up to its end at that isolation level."""
    with CommittedRecords(bootstrap, topics, isolation) as records:
        records.read_to_end()
        return records.found
