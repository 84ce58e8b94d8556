"""A consumer by assignment: assign, seek, pause, poll. A member of a consumer group is a GroupConsumer, which uses it.

Other leaders are fetched from while records of one are returned (`fetcher.py`). A position advances only when `poll`
returns records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from signalbox.client.aborted_transactions import ISOLATION_LEVELS
from signalbox.client.application_rows import CONSUMER_CONFIG, field_values
from signalbox.client.client_metrics import Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ConfigRejected
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.fetcher import Fetcher
from signalbox.common.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """Fields are Kafka's consumer keys. `auto_offset_reset`: earliest, latest, or none (an error). `isolation_level`:
    read_uncommitted, or read_committed: no records of transactions that are open or aborted. ConfigRejected else."""

    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    auto_offset_reset: str = "earliest"
    check_crcs: bool = True
    isolation_level: str = "read_uncommitted"

    def __post_init__(self) -> None:
        if self.isolation_level not in ISOLATION_LEVELS:
            raise ConfigRejected(
                f"isolation.level is {self.isolation_level!r}, not one of {', '.join(ISOLATION_LEVELS)}"
            )

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ConsumerSettings:
        """Settings from Kafka's keys, with Kafka's default `auto.offset.reset=latest`. ConfigRejected lists every fault
        at once; unknown keys are ignored."""
        return cls(**field_values(CONSUMER_CONFIG, properties, cls))


class Consumer:
    """`client` must be started, and is not closed here. `await close()` cancels the fetches in flight; after it every
    method that reads or changes positions raises RuntimeError."""

    def __init__(self, client: ClusterClient, settings: ConsumerSettings | None = None) -> None:
        self._client = client
        self._fetcher = Fetcher(client, settings or ConsumerSettings())
        self._polling = False
        self._closed = False
        self._records_consumed = 0

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the consumer is closed")

    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from offsets, or from EARLIEST or LATEST; replaces the previous assignment."""
        self._check_open()
        await self._fetcher.stop()
        self._fetcher.positions.clear()
        self._fetcher.end_offsets.clear()
        self._fetcher.paused.clear()
        await self.add(positions)

    async def add(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions too, from offsets as in `assign`; of one that is assigned already, records that are
        fetched are dropped."""
        self._check_open()
        for partition, offset in positions.items():
            self._fetcher.positions[partition] = await self.offset_at(partition, offset)
            self._fetcher.forget([partition])

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions no longer; their records that are already fetched are dropped."""
        removed = set(partitions)
        self._fetcher.forget(removed)
        self._fetcher.paused -= removed
        for partition in removed:
            self._fetcher.positions.pop(partition, None)
            self._fetcher.end_offsets.pop(partition, None)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read, paused ones included."""
        return frozenset(self._fetcher.positions)

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(self._fetcher.paused)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these partitions until `resume`. ValueError for one that is not assigned."""
        chosen = self._assigned(partitions)
        positions = self.positions()
        self._fetcher.positions.update({partition: positions[partition] for partition in chosen})
        self._fetcher.forget(chosen)
        self._fetcher.paused |= chosen

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again. ValueError for one that is not assigned."""
        self._fetcher.paused -= self._assigned(partitions)

    def _assigned(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        chosen = set(partitions)
        unknown = chosen - self._fetcher.positions.keys()
        if unknown:
            raise ValueError(f"partition {min(unknown)} is not assigned")
        return chosen

    async def offset_at(self, partition: TopicPartition, offset: int) -> int:
        """`offset`, or the one that EARLIEST or LATEST stands for now."""
        return await self._fetcher.offset_at(partition, offset)

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at `offset` (or EARLIEST, LATEST); records of the partition that are already fetched are dropped.
        ValueError when the partition is not assigned."""
        self._check_open()
        self._assigned([partition])
        position = await self.offset_at(partition, offset)
        if partition in self._fetcher.positions:  # else it was removed meanwhile
            self._fetcher.positions[partition] = position
            self._fetcher.forget([partition])

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` returns; KeyError when the partition is not assigned."""
        return self.positions()[partition]

    def positions(self) -> dict[TopicPartition, int]:
        """The position of every partition."""
        return self._fetcher.positions | self._fetcher.records.next_offsets()

    async def poll(self, timeout_ms: float = 1_000, max_records: int = 500) -> list[ConsumedRecord]:
        """The next records, at most `max_records`; empty when none arrived in time.

        KafkaError: CORRUPT_MESSAGE, OFFSET_OUT_OF_RANGE with `auto_offset_reset` none, authorization. RuntimeError
        while another task polls, and after `close`.
        """
        if self._polling:
            raise RuntimeError("poll was called while another call is under way: a consumer is for one task")
        self._polling = True
        try:
            await self.wait_for_records(timeout_ms)
            return self.take(max_records)
        finally:
            self._polling = False

    async def wait_for_records(self, timeout_ms: float) -> None:
        """Wait until `take` returns records, or the time is over; errors as `poll`. A cancelled call loses nothing.
        Without records it yields to the event loop also if there is no time: the fetches need it."""
        self._check_open()
        fetcher = self._fetcher
        deadline = self._client.deadline(timeout_ms)
        while not fetcher.records:
            look_again = fetcher.start_fetches()
            if fetcher.failure is None:
                await fetcher.progress(deadline if look_again is None else min(deadline, look_again))
            self._check_open()
            if fetcher.failure is not None:
                (failure, _), fetcher.failure = fetcher.failure, None
                raise failure
            if asyncio.get_running_loop().time() >= deadline:
                return

    def take(self, max_records: int) -> list[ConsumedRecord]:
        """Records that have arrived, at most `max_records`; their positions advance. More are fetched."""
        records = self._fetcher.records.take(max_records)
        self._records_consumed += len(records)
        self._fetcher.start_fetches()
        return records

    def give_back(self, records: Iterable[ConsumedRecord]) -> None:
        """Return the records of the last `take` once more, before newer ones: the application has not received them."""
        returned = list(records)
        self._records_consumed -= len(returned)
        positions = self._fetcher.positions
        self._fetcher.records.give_back(
            row for row in returned if TopicPartition(row.topic, row.partition) in positions
        )

    def metrics(self) -> Metrics:
        """Kafka's metrics of this consumer, by name, beside those of the client (`ClusterClient.metrics`)."""
        fetcher, positions = self._fetcher, self.positions()
        ends = fetcher.end_offsets
        lags = [ends[one] - offset for one, offset in positions.items() if one in ends]
        return {
            "records-consumed-total": self._records_consumed,
            "bytes-consumed-total": fetcher.bytes_consumed,
            "fetch-total": fetcher.fetch_ms.count,
            **fetcher.fetch_ms.as_metrics("fetch-latency"),
            "records-lag-max": max(0, *lags) if lags else 0,
            "assigned-partitions": len(positions),
        }

    async def close(self) -> None:
        """Cancel the fetches in flight and read no more; a `poll` that waits raises. A second call does nothing."""
        self._closed = True
        self._fetcher.positions.clear()
        await self._fetcher.stop()
