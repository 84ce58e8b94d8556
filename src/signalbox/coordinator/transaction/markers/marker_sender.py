"""Sends the markers of prepared transactions to the leaders of their partitions, until each partition has its own.

A broker has one request in flight at most, in which the markers of all transactions for it are gathered, up to
MAX_PARTITIONS; this broker itself is one of them. Memory is bounded by the transactional ids, since each has one
prepared transaction at most. What fails is retried with the leader of that time, without limit, until the coordinator
resigns the partition of `__transaction_state`.

A partition that the metadata does not have is given up at once when its topic is deleted, and otherwise only after
GONE_AFTER_MS: the metadata of a broker that has just started may be older than the partition.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.deadlines import Deadline, Deadlines
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
RETRY_AFTER_MS = 100
GONE_AFTER_MS = 30_000

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


class MarkerSender:
    """`leader_of` returns a partition's leader: -1 if it has none now, None if the metadata does not have it."""

    def __init__(self, channels: MarkerChannels, leader_of: LeaderOf, deadlines: Deadlines) -> None:
        self._channels = channels
        self._leader_of = leader_of
        self._deadlines = deadlines
        self._queues: dict[int, Batch] = {}
        self._in_flight: set[int] = set()
        self._waiting: Batch = {}  # without a leader, or after an error
        self._retry: Deadline | None = None
        self._missing_since: dict[TopicPartition, float] = {}

    def send(self, markers: TransactionMarkers) -> None:
        """Send all that are left; without partitions they are written at once."""
        if not markers.left:
            markers.written(())
            return
        self._route(markers, markers.left)
        self._flush()

    def remove(self, state_partition: int) -> None:
        """The coordinator resigned this partition of `__transaction_state`: its successor sends the markers."""
        for batch in (self._waiting, *self._queues.values()):
            for markers in [row for row in batch if row.state_partition == state_partition]:
                markers.stop()
                del batch[markers]

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """Partitions of these topics need no markers any more."""
        names = set(topics)
        for batch in (self._waiting, *self._queues.values()):
            for markers, partitions in list(batch.items()):
                deleted = {partition for partition in partitions if partition.topic in names}
                partitions -= deleted
                if not partitions:
                    del batch[markers]
                markers.written(deleted)

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._channels.close()

    @property
    def queue_size(self) -> int:
        """Markers that are not in flight, counted by partition."""
        return sum(
            len(partitions) for batch in (self._waiting, *self._queues.values()) for partitions in batch.values()
        )

    # --- leaders

    def _route(self, markers: TransactionMarkers, partitions: Iterable[TopicPartition]) -> None:
        """Queue for the leaders of now; what has none waits."""
        gone = set()
        for partition in sorted(partitions):
            leader = self._leader_of(partition)
            if leader is not None:
                self._missing_since.pop(partition, None)
            if leader is None and self._is_gone(partition):
                gone.add(partition)
            elif leader is None or leader < 0:
                self._wait(markers, partition)
            else:
                self._queues.setdefault(leader, {}).setdefault(markers, set()).add(partition)
        if gone:
            logger.info("Transaction markers not written (partitions=%s): the partitions do not exist", sorted(gone))
            markers.written(gone)

    def _is_gone(self, partition: TopicPartition) -> bool:
        now = self._deadlines.clock.monotonic()
        since = self._missing_since.setdefault(partition, now)
        if (now - since) * 1000 < GONE_AFTER_MS:
            return False
        del self._missing_since[partition]
        return True

    def _wait(self, markers: TransactionMarkers, partition: TopicPartition) -> None:
        self._waiting.setdefault(markers, set()).add(partition)
        if self._retry is None:
            self._retry = self._deadlines.add(RETRY_AFTER_MS, self._route_waiting)

    def _route_waiting(self) -> None:
        self._retry = None
        waiting, self._waiting = self._waiting, {}
        for markers, partitions in waiting.items():
            self._route(markers, partitions & markers.left)
        if not self._waiting:
            self._missing_since.clear()
        self._flush()

    # --- requests

    def _flush(self) -> None:
        for broker_id in [broker for broker in self._queues if broker not in self._in_flight]:
            batch = self._take(broker_id)
            if batch:
                self._in_flight.add(broker_id)
                request = WriteTxnMarkersRequest(markers=[row.message(batch[row]) for row in batch])
                self._channels.send(broker_id, request, self._taking_response(broker_id, batch))

    def _take(self, broker_id: int) -> Batch:
        """The next batch for the broker, whose queue keeps the rest."""
        queue = self._queues.pop(broker_id)
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
            self._queues[broker_id] = queue
        return batch

    def _taking_response(self, broker_id: int, batch: Batch) -> OnMarkersResponse:
        def take(response: WriteTxnMarkersResponse | Exception) -> None:
            self._in_flight.discard(broker_id)
            if isinstance(response, Exception):
                logger.debug("Transaction markers not sent to broker %d, retrying: %s", broker_id, response)
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
        written = set()
        for partition in partitions & markers.left:
            error = errors.get((markers.transaction.producer_id, partition), Error.NETWORK_EXCEPTION)
            result = marker_result(error)
            if result is MarkerResult.STOP:
                logger.warning(
                    "Transaction markers stopped (transactional id=%s, partition=%s, error=%s): the transaction has "
                    "another coordinator or a newer producer",
                    markers.name,
                    partition,
                    error.name,
                )
                markers.stop()
                return
            if result is MarkerResult.WRITTEN:
                written.add(partition)
                continue
            if error not in EXPECTED_ERRORS and error is not Error.NETWORK_EXCEPTION:
                logger.warning(
                    "Transaction marker not written (partition=%s, error=%s): retrying", partition, error.name
                )
            self._wait(markers, partition)
        markers.written(written)


def errors_by_partition(response: WriteTxnMarkersResponse) -> dict[tuple[int, TopicPartition], Error]:
    """The errors by producer id and partition."""
    return {
        (marker.producer_id, TopicPartition(topic.name, partition.partition_index)): Error.of(partition.error_code)
        for marker in response.markers
        for topic in marker.topics
        for partition in topic.partitions
    }
