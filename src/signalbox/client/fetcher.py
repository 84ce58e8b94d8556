"""The fetches of one consumer: at most one in flight per leader, so that several leaders are read in parallel.

No partition delays another one. A partition with an error waits for its own retry backoff, and the next fetch of its
leader begins without it; an offset that is out of range is looked up beside the fetches. A partition whose leader has
moved is fetched from the new leader at once, although the old one may not have responded yet: its response is ignored.
A leader is not fetched from while records of one of its partitions wait here. Such a fetch would have only the other
partitions, and if these are idle it lasts `fetch.max.wait.ms`, for which the busy partition is not fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signalbox.client.aborted_transactions import ISOLATION_LEVELS, end_offset
from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST, OffsetAdmin
from signalbox.client.client_metrics import Measure
from signalbox.client.cluster.metadata_updater import MetadataUpdater
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost, NoUsableNode
from signalbox.client.fetch_exchange import fetch_request, records_in, rows_by_partition
from signalbox.client.fetched_records import FetchedRecords
from signalbox.client.rejections import is_final, rejection_of, topic_rejection
from signalbox.common.backoff import backoff_after
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

if TYPE_CHECKING:
    from signalbox.client.consumer import ConsumerSettings

_RESET_TO = {"earliest": EARLIEST, "latest": LATEST}
_NO_LEADER = -1  # of a lookup of an offset


@dataclass(slots=True, eq=False)
class _Fetch:
    """A fetch in flight, or the lookup of an offset (`_NO_LEADER`). Its end needs the updater, also if the client is
    closed meanwhile."""

    leader_id: int
    updater: MetadataUpdater


@dataclass(slots=True)
class _Retry:
    """A partition with an error is not fetched from the same leader before `at`, a loop time."""

    leader_id: int
    failures: int
    at: float


class Fetcher:
    """`positions` has the partitions that are read, with the offset of the next fetch. `failure` is an error that
    `poll` has to raise, with the partitions that have it."""

    def __init__(self, client: ClusterClient, settings: ConsumerSettings) -> None:
        self._client = client
        self._settings = settings
        self.positions: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.records = FetchedRecords()
        self.end_offsets: dict[TopicPartition, int] = {}  # as in the last responses
        self.failure: tuple[Exception, frozenset[TopicPartition]] | None = None
        self.bytes_consumed = 0
        self.fetch_ms = Measure()
        self._in_flight: dict[TopicPartition, _Fetch] = {}
        self._retries: dict[TopicPartition, _Retry] = {}
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._waiting: asyncio.Task[bool] | None = None  # of `progress`
        self._rejection: ClientFailure | None = None  # the last one that was noted

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop what was fetched of these partitions or is in flight: they are read from another offset, or no more."""
        dropped = frozenset(partitions)
        self.records.drop(dropped)
        for partition in dropped:
            self._in_flight.pop(partition, None)
            self._retries.pop(partition, None)
        if self.failure is not None and self.failure[1] <= dropped:
            self.failure = None

    async def offset_at(self, partition: TopicPartition, offset: int) -> int:
        """`offset`, or the one that EARLIEST or LATEST stands for now."""
        if offset >= 0:
            return offset
        isolation = ISOLATION_LEVELS[self._settings.isolation_level]
        return (await OffsetAdmin(self._client).list_offsets([partition], offset, isolation_level=isolation))[partition]

    async def stop(self) -> None:
        """End the fetches in flight, and the wait for one."""
        tasks: list[asyncio.Task[Any]] = [*self._tasks, *([self._waiting] if self._waiting is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._in_flight.clear()
        self._retries.clear()
        self.records.clear()
        self.failure = None

    def start_fetches(self) -> float | None:
        """Send a fetch to each leader that has partitions to read, no fetch in flight and no records here. Returns the
        loop time at which a partition that cannot be fetched now should be looked at again; None without one."""
        updater = self._client.metadata_updater
        now = asyncio.get_running_loop().time()
        look_again: list[float] = []
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        taken = {*self._tasks.values(), *(updater.view.leader_of(partition) for partition in self.records)}
        for partition, offset in self.positions.items():
            leader_id = updater.view.leader_of(partition)
            fetch = self._in_flight.get(partition)
            if partition in self.records or partition in self.paused or (fetch and not _has_moved(fetch, leader_id)):
                continue
            retry = self._retries.get(partition)
            if leader_id is None or not updater.is_usable(updater.view.nodes[leader_id]):
                self._note_rejection(partition)
                self._note_topic_error(partition)
                updater.refresh_soon([partition.topic])
                look_again.append(now + self._client.settings.retry_backoff_ms / 1000)
            elif retry is not None and retry.leader_id == leader_id and now < retry.at:
                look_again.append(retry.at)
            elif leader_id not in taken:
                by_leader.setdefault(leader_id, {})[partition] = offset
        for leader_id, offsets in by_leader.items():
            fetch = _Fetch(leader_id, updater)
            self._in_flight.update(dict.fromkeys(offsets, fetch))
            self._begin(self._fetch(fetch, offsets), leader_id)
        return min(look_again, default=None)

    def _begin(self, work: Coroutine[Any, Any, None], leader_id: int) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = leader_id
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    async def progress(self, until: float) -> None:
        """Wait until a fetch ends or the view of the cluster changes, at most until a loop time; `stop` ends it too."""
        loop = asyncio.get_running_loop()
        view_changed = self._waiting = loop.create_task(self._client.metadata_updater.view_changed(until))
        try:
            await asyncio.wait((*self._tasks, view_changed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting = None
            view_changed.cancel()
            await asyncio.gather(view_changed, return_exceptions=True)

    def _note_rejection(self, partition: TopicPartition) -> None:
        """That every bootstrap server rejected this client is raised by `poll`, once for each round over them."""
        rejection = self._client.metadata_updater.final_failure
        if rejection is not None and rejection is not self._rejection:
            self._rejection = rejection
            self._fail(rejection, [partition])

    def _note_topic_error(self, partition: TopicPartition) -> None:
        """A final error of the topic's metadata is raised by `poll`; the client waits for others to pass."""
        topic_view = self._client.view.topics.get(partition.topic)
        error = Error.of(topic_view.error_code) if topic_view is not None else Error.NONE
        if error not in (Error.NONE, Error.UNKNOWN_SERVER_ERROR) and not error.retriable:
            self._fail(topic_rejection(error, f"partition {partition}"), [partition])

    def _fail(self, failure: Exception, partitions: Iterable[TopicPartition]) -> None:
        self.failure = failure, frozenset(partitions)

    def _back_off(self, partition: TopicPartition, leader_id: int) -> None:
        settings = self._client.settings
        failures = self._retries[partition].failures + 1 if partition in self._retries else 1
        backoff_ms = backoff_after(failures, settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        at = asyncio.get_running_loop().time() + backoff_ms / 1000
        self._retries[partition] = _Retry(leader_id, failures, at)

    def _left_of(self, fetch: _Fetch, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Those partitions of a fetch that have not been moved, paused or removed since it was sent."""
        return {partition: at for partition, at in offsets.items() if self._in_flight.get(partition) is fetch}

    async def _fetch(self, fetch: _Fetch, offsets: dict[TopicPartition, int]) -> None:
        loop = asyncio.get_running_loop()
        try:
            request = fetch_request(offsets, fetch.updater.view, self._settings)
            began = loop.time()
            response = await self._client.request(fetch.leader_id, request, purpose=Purpose.FETCH)
            self.fetch_ms.record((loop.time() - began) * 1000)
            rows = rows_by_partition(response, fetch.updater.view)
            for partition, offset in self._left_of(fetch, offsets).items():
                del self._in_flight[partition]
                try:
                    self._handle(partition, offset, rows.get(partition), fetch, response)
                except Exception as error:  # of this partition only, for example a batch that cannot be read
                    self._back_off(partition, fetch.leader_id)
                    self._fail(error, [partition])
        except Exception as error:
            left = self._left_of(fetch, offsets)
            if not _is_of_view(error):
                for partition in left:
                    self._back_off(partition, fetch.leader_id)
            if _must_be_raised(error):
                self._fail(error, left)
            else:
                fetch.updater.refresh_soon()
        finally:
            for partition in self._left_of(fetch, offsets):
                del self._in_flight[partition]

    def _handle(self, partition: TopicPartition, offset: int, row: Any, fetch: _Fetch, response: Any) -> None:
        """Buffer the records of a partition up to the first batch that cannot be read, or handle its error."""
        error = Error.of(row.error_code) if row is not None else Error.UNKNOWN_TOPIC_OR_PARTITION
        if error == Error.NONE:
            self._retries.pop(partition, None)
            self.end_offsets[partition] = end_offset(row, self._settings.isolation_level)
            self.bytes_consumed += len(row.records or b"")
            for records, next_offset in records_in(row, partition, offset, self._settings.check_crcs):
                self.records.add(partition, records)
                self.positions[partition] = max(self.positions[partition], next_offset)
            return
        self._back_off(partition, fetch.leader_id)
        if error == Error.OFFSET_OUT_OF_RANGE and self._settings.auto_offset_reset in _RESET_TO:
            lookup = self._in_flight[partition] = _Fetch(_NO_LEADER, fetch.updater)
            self._begin(self._reset(partition, lookup), _NO_LEADER)
        elif error.retriable or error == Error.UNKNOWN_SERVER_ERROR:  # the Java client waits for that one to pass too
            if row is not None:  # KIP-951
                leader = row.current_leader
                view = fetch.updater.view
                view.hint_leader(partition, leader.leader_id, leader.leader_epoch, response.node_endpoints)
            fetch.updater.refresh_soon([partition.topic])
        else:
            self._fail(rejection_of(error, f"{partition} at offset {offset}"), [partition])

    async def _reset(self, partition: TopicPartition, lookup: _Fetch) -> None:
        """Continue where `auto.offset.reset` says."""
        try:
            position = await self.offset_at(partition, _RESET_TO[self._settings.auto_offset_reset])
            if self._in_flight.get(partition) is lookup:  # else it was removed or moved meanwhile
                self.positions[partition] = position
                self._retries.pop(partition, None)
        except Exception as error:
            if self._in_flight.get(partition) is lookup and _must_be_raised(error):
                self._fail(error, [partition])
        finally:
            if self._in_flight.get(partition) is lookup:
                del self._in_flight[partition]


def _must_be_raised(error: Exception) -> bool:
    """Whether `poll` raises the failure of a fetch: a defect that was silent would stop the reads."""
    return not isinstance(error, ClientFailure) or is_final(error)


def _is_of_view(error: Exception) -> bool:
    """Whether the partitions go on as soon as their node is usable again, which has a backoff of its own."""
    if isinstance(error, ConnectionLost):
        return error.closed_here
    return isinstance(error, ConnectFailed | NoUsableNode)


def _has_moved(fetch: _Fetch, leader_id: int | None) -> bool:
    """Whether the partition of a fetch in flight has another leader by now."""
    return leader_id not in (None, fetch.leader_id) and fetch.leader_id != _NO_LEADER
