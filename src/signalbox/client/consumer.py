"""A consumer by assignment: assign, seek, pause, poll. A member of a consumer group is a GroupConsumer, which uses it.

One fetch per leader is in flight while records are returned, so several leaders are read in parallel. A position
advances only when `poll` returns records.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from signalbox.client.aborted_transactions import ISOLATION_LEVELS, AbortedTransactions, end_offset
from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST, OffsetAdmin
from signalbox.client.application_rows import CONSUMER_CONFIG, field_values
from signalbox.client.client_metrics import Measure, Metrics
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import ClientFailure, ConfigRejected
from signalbox.client.fetch_exchange import fetch_request, rows_by_partition
from signalbox.client.rejections import is_final, rejection_of, topic_rejection
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import check_crc, iter_batch_headers
from signalbox.protocol.records.record_batch import records_of


class ConsumedRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


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


_RESET_TO = {"earliest": EARLIEST, "latest": LATEST}


class Consumer:
    """`client` must be started, and is not closed here. `await close()` cancels the fetches in flight."""

    def __init__(self, client: ClusterClient, settings: ConsumerSettings | None = None) -> None:
        self._client = client
        self._settings = settings or ConsumerSettings()
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._buffered: deque[ConsumedRecord] = deque()
        self._fetching: dict[TopicPartition, int] = {}
        self._fetches: dict[asyncio.Task[None], int] = {}
        self._polling = False
        self._end_offsets: dict[TopicPartition, int] = {}  # as in the last responses
        self._records_consumed = self._bytes_consumed = 0
        self._fetch_ms = Measure()
        self._failure: tuple[Exception, frozenset[TopicPartition]] | None = None  # and the partitions that have it

    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from offsets, or from EARLIEST or LATEST; replaces the previous assignment."""
        await self.close()
        self._positions = {}
        self._paused.clear()
        await self.add(positions)

    async def add(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions too, from offsets as in `assign`."""
        for partition, offset in positions.items():
            self._positions[partition] = await self.offset_at(partition, offset)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions no longer; their records that are already fetched are dropped."""
        removed = set(partitions)
        self._drop_fetched(removed)
        self._paused -= removed
        if self._failure is not None and self._failure[1] <= removed:
            self._failure = None
        for partition in removed:
            self._positions.pop(partition, None)
            self._end_offsets.pop(partition, None)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read, paused ones included."""
        return frozenset(self._positions)

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(self._paused)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these partitions until `resume`. ValueError for one that is not assigned."""
        chosen = self._assigned(partitions)
        positions = self.positions()
        self._positions.update({partition: positions[partition] for partition in chosen})
        self._drop_fetched(chosen)
        self._paused |= chosen

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again. ValueError for one that is not assigned."""
        self._paused -= self._assigned(partitions)

    def _assigned(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        chosen = set(partitions)
        unknown = chosen - self._positions.keys()
        if unknown:
            raise ValueError(f"partition {min(unknown)} is not assigned")
        return chosen

    def _drop_fetched(self, partitions: set[TopicPartition]) -> None:
        self._buffered = deque(
            row for row in self._buffered if TopicPartition(row.topic, row.partition) not in partitions
        )
        for partition in partitions:
            self._fetching.pop(partition, None)

    async def offset_at(self, partition: TopicPartition, offset: int) -> int:
        """`offset`, or the one that EARLIEST or LATEST stands for now."""
        if offset >= 0:
            return offset
        isolation = ISOLATION_LEVELS[self._settings.isolation_level]
        return (await OffsetAdmin(self._client).list_offsets([partition], offset, isolation_level=isolation))[partition]

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at `offset` (or EARLIEST, LATEST); records of the partition that are already fetched are dropped."""
        self._positions[partition] = await self.offset_at(partition, offset)
        self._drop_fetched({partition})

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` returns; KeyError when the partition is not assigned."""
        return self.positions()[partition]

    def positions(self) -> dict[TopicPartition, int]:
        """The position of every partition."""
        positions = dict(self._positions)
        for row in reversed(self._buffered):
            positions[TopicPartition(row.topic, row.partition)] = row.offset
        return positions

    async def poll(self, timeout_ms: float = 1_000, max_records: int = 500) -> list[ConsumedRecord]:
        """The next records, at most `max_records`; empty when none arrived in time.

        KafkaError: CORRUPT_MESSAGE, OFFSET_OUT_OF_RANGE with `auto_offset_reset` none, authorization. RuntimeError
        while another task polls.
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
        """Wait until `take` returns records, or the time is over; errors as `poll`. A cancelled call loses nothing."""
        deadline = self._client.deadline(timeout_ms)
        loop = asyncio.get_running_loop()
        while not self._buffered and loop.time() < deadline:
            self._fetch_idle_leaders()
            if self._fetches:
                remaining_s = max(0.0, deadline - loop.time())
                await asyncio.wait(self._fetches, timeout=remaining_s, return_when=asyncio.FIRST_COMPLETED)
            else:
                await self._client.pause(1, deadline)
            if self._failure is not None:
                (failure, _), self._failure = self._failure, None
                raise failure

    def take(self, max_records: int) -> list[ConsumedRecord]:
        """Records that have arrived, at most `max_records`; their positions advance. More are fetched."""
        records = [self._buffered.popleft() for _ in range(min(max_records, len(self._buffered)))]
        self._records_consumed += len(records)
        self._fetch_idle_leaders()
        return records

    def give_back(self, records: Iterable[ConsumedRecord]) -> None:
        """Return the records of the last `take` once more, before newer ones: the application has not received them."""
        returned = list(records)
        self._records_consumed -= len(returned)
        kept = [row for row in returned if TopicPartition(row.topic, row.partition) in self._positions]
        self._buffered.extendleft(reversed(kept))

    def metrics(self) -> Metrics:
        """Kafka's metrics of this consumer, by name, beside those of the client (`ClusterClient.metrics`)."""
        positions = self.positions()
        lags = [self._end_offsets[one] - offset for one, offset in positions.items() if one in self._end_offsets]
        return {
            "records-consumed-total": self._records_consumed,
            "bytes-consumed-total": self._bytes_consumed,
            "fetch-total": self._fetch_ms.count,
            **self._fetch_ms.as_metrics("fetch-latency"),
            "records-lag-max": max(0, *lags) if lags else 0,
            "assigned-partitions": len(positions),
        }

    async def close(self) -> None:
        for task in tuple(self._fetches):
            task.cancel()
        await asyncio.gather(*self._fetches, return_exceptions=True)
        self._fetching.clear()
        self._buffered.clear()

    def _fetch_idle_leaders(self) -> None:
        """Send a fetch to each leader that has partitions to read and no fetch in flight."""
        metadata_updater = self._client.metadata_updater
        buffered = {TopicPartition(row.topic, row.partition) for row in self._buffered}
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for partition, offset in self._positions.items():
            if partition in buffered or partition in self._fetching or partition in self._paused:
                continue
            leader_id = metadata_updater.view.leader_of(partition)
            if leader_id is None or not metadata_updater.is_usable(metadata_updater.view.nodes[leader_id]):
                self._note_topic_error(partition)
                metadata_updater.refresh_soon([partition.topic])
            elif leader_id not in self._fetches.values():
                by_leader.setdefault(leader_id, {})[partition] = offset
        for leader_id, offsets in by_leader.items():
            self._fetching.update(offsets)
            task = asyncio.get_running_loop().create_task(self._fetch(leader_id, offsets))
            self._fetches[task] = leader_id
            task.add_done_callback(lambda done: self._fetches.pop(done, None))

    def _note_topic_error(self, partition: TopicPartition) -> None:
        """A final error of the topic's metadata is raised by `poll`; the client waits for others to pass."""
        topic_view = self._client.view.topics.get(partition.topic)
        error = Error.of(topic_view.error_code) if topic_view is not None else Error.NONE
        if error not in (Error.NONE, Error.UNKNOWN_SERVER_ERROR) and not error.retriable:
            self._failure = topic_rejection(error, f"partition {partition}"), frozenset({partition})

    async def _fetch(self, leader_id: int, offsets: dict[TopicPartition, int]) -> None:
        concerned = frozenset(offsets)
        try:
            request = fetch_request(offsets, self._client.view, self._settings)
            began = asyncio.get_running_loop().time()
            response = await self._client.request(leader_id, request, purpose=Purpose.FETCH)
            self._fetch_ms.record((asyncio.get_running_loop().time() - began) * 1000)
            rows = rows_by_partition(response, self._client.view)
            for partition, offset in offsets.items():
                if self._fetching.get(partition) == offset:
                    concerned = frozenset({partition})
                    await self._take(partition, offset, rows.get(partition))
        except KafkaError as error:
            self._failure = error, concerned
        except ClientFailure as failure:
            self._client.metadata_updater.refresh_soon()
            if is_final(failure):
                self._failure = failure, concerned
            else:
                await asyncio.sleep(self._client.settings.retry_backoff_ms / 1000)
        finally:
            for partition, offset in offsets.items():
                if self._fetching.get(partition) == offset:
                    del self._fetching[partition]

    async def _take(self, partition: TopicPartition, offset: int, row: Any) -> None:
        """Buffer the records of a partition, or handle its error."""
        error = Error.of(row.error_code) if row is not None else Error.UNKNOWN_TOPIC_OR_PARTITION
        if error == Error.NONE:
            self._end_offsets[partition] = end_offset(row, self._settings.isolation_level)
            self._bytes_consumed += len(row.records or b"")
            self._buffer(partition, offset, row)
        elif error == Error.OFFSET_OUT_OF_RANGE and self._settings.auto_offset_reset in _RESET_TO:
            reset = _RESET_TO[self._settings.auto_offset_reset]
            position = await self.offset_at(partition, reset)
            if self._fetching.get(partition) == offset:  # else it was removed or moved meanwhile
                self._positions[partition] = position
        elif error.retriable:
            self._client.metadata_updater.refresh_soon([partition.topic])
            await asyncio.sleep(self._client.settings.retry_backoff_ms / 1000)
        else:
            raise rejection_of(error, f"{partition} at offset {offset}")

    def _buffer(self, partition: TopicPartition, offset: int, row: Any) -> None:
        view = memoryview(row.records or b"")
        aborted = AbortedTransactions(row.aborted_transactions or ())
        for header in iter_batch_headers(view, allow_partial_tail=True):
            if self._settings.check_crcs and not check_crc(view, header):
                raise rejection_of(Error.CORRUPT_MESSAGE, f"{partition}: the batch at {header.base_offset} is corrupt")
            if not aborted.hides(view, header):
                for record in records_of(view, header):
                    if record.offset >= offset:
                        self._buffered.append(
                            ConsumedRecord(
                                partition.topic,
                                partition.partition,
                                record.offset,
                                record.timestamp,
                                record.key,
                                record.value,
                                tuple(record.headers),
                            )
                        )
            self._positions[partition] = max(self._positions[partition], header.next_offset)
