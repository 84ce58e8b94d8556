"""Sends the markers of prepared transactions to the leaders of their partitions, until each partition has its own.

A broker has one request in flight at most, in which the markers of all transactions for it are gathered, up to
MAX_PARTITIONS; this broker itself is one of them. Partitions whose replicas did not acknowledge a marker in time have a
channel and a request of their own until they do, so that the others do not wait for them. Memory is bounded by the
transactional ids, since each has one prepared transaction at most. What fails is retried with the leader of that time,
without limit but with a delay that grows (`TransactionMarkers.next_delay_ms`), until the coordinator resigns the
partition of `__transaction_state`.

A partition that the metadata does not have is given up at once if this broker has seen its topic be deleted while it
coordinated the transaction, and otherwise only after GONE_AFTER_MS: the metadata of a broker that has just started, or
has just become the coordinator, may be older than the partition. Its transaction would stay open there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.coordinator.transaction.markers.transaction_markers import (
    EXPECTED_ERRORS,
    MarkerResult,
    TransactionMarkers,
    marker_result,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

logger = logging.getLogger(__name__)

MAX_PARTITIONS = 1_000
GONE_AFTER_MS = 30_000
MAX_DELETED_TOPICS = 10_000  # whose names are kept
LATER_MS = 60_000  # after an error that only an administrator or the end of the partition resolves

OnMarkersResponse = Callable[[WriteTxnMarkersResponse | Exception], None]
LeaderOf = Callable[[TopicPartition], int | None]
Batch = dict[TransactionMarkers, set[TopicPartition]]


class MarkerChannels(Protocol):
    def send(self, broker_id: int, request: WriteTxnMarkersRequest, on_response: OnMarkersResponse) -> None:
        """Send to the broker's inter-broker listener. `on_response` gets the response, or the exception for which there
        is none; never before this returns."""
        ...

    def close(self) -> None:
        """Close all channels; `on_response` is not called any more."""
        ...


class _Connection(NamedTuple):
    """One request is in flight per connection. `is_slow`: for partitions that timed out."""

    broker_id: int
    is_slow: bool


class MarkerSender:
    """`leader_of` returns a partition's leader: -1 if it has none now, None if the metadata does not have it.
    `slow_channels` are those for partitions that timed out."""

    def __init__(
        self, channels: MarkerChannels, slow_channels: MarkerChannels, leader_of: LeaderOf, deadlines: Deadlines
    ) -> None:
        self._channels = {False: channels, True: slow_channels}
        self._leader_of = leader_of
        self._deadlines = deadlines
        self._unfinished: dict[TransactionMarkers, None] = {}
        self._queues: dict[_Connection, Batch] = {}
        self._in_flight: set[_Connection] = set()
        self._timed_out: set[TopicPartition] = set()
        self._missing_since: dict[TopicPartition, float] = {}
        self._deletions = 0
        self._deleted: dict[str, int] = {}  # topics, each with the number of its deletion
        self._elected: dict[int, int] = {}  # state partitions, each with the number of the last deletion before it
        self._without_leader = 0

    def send(self, markers: TransactionMarkers) -> None:
        """Send all that are left; without partitions they are written at once."""
        if not markers.left:
            markers.written(())
            return
        self._unfinished[markers] = None
        self._route(markers, markers.left)
        self._flush()

    def elected(self, state_partition: int) -> None:
        """The coordinator leads this partition of `__transaction_state`, and will load it: deletions before now say
        nothing of its transactions, whose topics may be newer than this broker's metadata."""
        self._elected[state_partition] = self._deletions

    def remove(self, state_partition: int) -> None:
        """The coordinator resigned this partition of `__transaction_state`: its successor sends the markers."""
        self._elected.pop(state_partition, None)
        for markers in [row for row in self._unfinished if row.state_partition == state_partition]:
            self._stop(markers)

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """Partitions of these topics need no markers any more."""
        names = set(topics)
        for name in names:
            self._deletions += 1
            self._deleted.pop(name, None)
            self._deleted[name] = self._deletions
        while len(self._deleted) > MAX_DELETED_TOPICS:
            del self._deleted[next(iter(self._deleted))]
        for markers in list(self._unfinished):
            self._written(markers, [partition for partition in markers.left if partition.topic in names])
        self._timed_out = {partition for partition in self._timed_out if partition.topic not in names}

    def close(self) -> None:
        for markers in list(self._unfinished):
            self._stop(markers)
        for channels in self._channels.values():
            channels.close()

    @property
    def left(self) -> int:
        """Markers that are not known to be written, counted by partition."""
        return sum(len(markers.left) for markers in self._unfinished)

    @property
    def without_leader(self) -> int:
        """Markers that wait because their partitions have no leader."""
        return self._without_leader

    def _stop(self, markers: TransactionMarkers) -> None:
        """Send no more; what is queued, in flight or waiting is ignored when its time comes."""
        markers.stop()
        self._unfinished.pop(markers, None)

    def _written(self, markers: TransactionMarkers, partitions: Iterable[TopicPartition]) -> None:
        markers.written(partitions)
        if not markers.left:
            self._unfinished.pop(markers, None)

    # --- leaders

    def _route(self, markers: TransactionMarkers, partitions: Iterable[TopicPartition]) -> None:
        """Queue for the leaders of now; what has none waits."""
        gone, waiting = set(), set()
        for partition in sorted(partitions):
            leader = self._leader_of(partition)
            if leader is not None:
                self._missing_since.pop(partition, None)
            if leader is None and (self._was_deleted(markers, partition) or self._is_gone(partition)):
                gone.add(partition)
            elif leader is None or leader < 0:
                waiting.add(partition)
            else:
                connection = _Connection(leader, partition in self._timed_out)
                self._queues.setdefault(connection, {}).setdefault(markers, set()).add(partition)
        if waiting:
            self._without_leader += len(waiting)
            self._retry(markers, waiting, markers.next_delay_ms(), without_leader=len(waiting))
        if gone:
            logger.info("Transaction markers not written (partitions=%s): the partitions do not exist", sorted(gone))
            self._written(markers, gone)

    def _was_deleted(self, markers: TransactionMarkers, partition: TopicPartition) -> bool:
        elected = self._elected.get(markers.state_partition, self._deletions)
        return self._deleted.get(partition.topic, 0) > elected

    def _is_gone(self, partition: TopicPartition) -> bool:
        now = self._deadlines.clock.monotonic()
        since = self._missing_since.setdefault(partition, now)
        if (now - since) * 1000 < GONE_AFTER_MS:
            return False
        del self._missing_since[partition]
        return True

    def _retry(
        self, markers: TransactionMarkers, partitions: set[TopicPartition], delay_ms: int, without_leader: int = 0
    ) -> None:
        """Route these partitions again later, of which `without_leader` have none."""

        def route() -> None:
            self._without_leader -= without_leader
            left = partitions & markers.left
            if left:
                self._route(markers, left)
                self._flush()
            else:
                for partition in partitions:
                    self._missing_since.pop(partition, None)

        self._deadlines.add(delay_ms, route)

    # --- requests

    def _flush(self) -> None:
        for connection in [connection for connection in self._queues if connection not in self._in_flight]:
            batch = self._take(connection)
            if batch:
                self._in_flight.add(connection)
                request = WriteTxnMarkersRequest(markers=[row.message(batch[row]) for row in batch])
                self._channels[connection.is_slow].send(
                    connection.broker_id, request, self._taking_response(connection, batch)
                )

    def _take(self, connection: _Connection) -> Batch:
        """The next batch for the broker, whose queue keeps the rest."""
        queue = self._queues.pop(connection)
        batch: Batch = {}
        remaining = MAX_PARTITIONS
        for markers in list(queue):
            if not remaining:
                break
            partitions = queue.pop(markers) & markers.left
            taken = set(sorted(partitions)[:remaining])
            remaining -= len(taken)
            if taken:
                batch[markers] = taken
            if partitions - taken:
                queue[markers] = partitions - taken
        if queue:
            self._queues[connection] = queue
        return batch

    def _taking_response(self, connection: _Connection, batch: Batch) -> OnMarkersResponse:
        def take(response: WriteTxnMarkersResponse | Exception) -> None:
            self._in_flight.discard(connection)
            if isinstance(response, Exception):
                logger.debug("Transaction markers not sent to broker %d, retrying: %s", connection.broker_id, response)
                errors: dict[tuple[int, TopicPartition], Error] = {}
            else:
                errors = errors_by_partition(response)
            for markers, partitions in batch.items():
                self._settle(markers, partitions, errors)
            self._flush()

        return take

    def _settle(
        self,
        markers: TransactionMarkers,
        partitions: set[TopicPartition],
        errors: dict[tuple[int, TopicPartition], Error],
    ) -> None:
        """A partition without a result is retried."""
        by_result: dict[MarkerResult, set[TopicPartition]] = {result: set() for result in MarkerResult}
        for partition in partitions & markers.left:
            error = errors.get((markers.transaction.producer_id, partition), Error.NETWORK_EXCEPTION)
            result = marker_result(error)
            by_result[result].add(partition)
            if error is Error.REQUEST_TIMED_OUT:
                self._timed_out.add(partition)
            elif error is not Error.NETWORK_EXCEPTION:
                self._timed_out.discard(partition)
            _log(markers, partition, error, result)
        if by_result[MarkerResult.STOP]:
            self._stop(markers)
            return
        if by_result[MarkerResult.RETRY]:
            self._retry(markers, by_result[MarkerResult.RETRY], markers.next_delay_ms())
        if by_result[MarkerResult.RETRY_LATER]:
            self._retry(markers, by_result[MarkerResult.RETRY_LATER], LATER_MS)
        self._written(markers, by_result[MarkerResult.WRITTEN] | by_result[MarkerResult.DROP])


def _log(markers: TransactionMarkers, partition: TopicPartition, error: Error, result: MarkerResult) -> None:
    if result is MarkerResult.STOP:
        logger.warning(
            "Transaction markers stopped (transactional id=%s, partition=%s, error=%s): the transaction has another"
            " coordinator",
            markers.name,
            partition,
            error.name,
        )
    elif result is MarkerResult.RETRY_LATER:
        logger.warning(
            "Transaction marker rejected (transactional id=%s, partition=%s, error=%s): the partition has a newer"
            " producer epoch; retrying every minute",
            markers.name,
            partition,
            error.name,
        )
    elif result is MarkerResult.DROP:
        logger.info(
            "Transaction marker dropped (transactional id=%s, partition=%s, error=%s): the partition takes no markers",
            markers.name,
            partition,
            error.name,
        )
    elif result is MarkerResult.RETRY and error not in EXPECTED_ERRORS and error is not Error.NETWORK_EXCEPTION:
        logger.warning("Transaction marker not written (partition=%s, error=%s): retrying", partition, error.name)


def errors_by_partition(response: WriteTxnMarkersResponse) -> dict[tuple[int, TopicPartition], Error]:
    """The errors by producer id and partition."""
    return {
        (marker.producer_id, TopicPartition(topic.name, partition.partition_index)): Error.of(partition.error_code)
        for marker in response.markers
        for topic in marker.topics
        for partition in topic.partitions
    }
