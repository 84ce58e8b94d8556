"""Requests the log start and log end from a leader, after it returned OFFSET_OUT_OF_RANGE to a follower."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.replication.followed import FollowedPartition
from signalbox.replication.list_offsets import EARLIEST, LATEST
from signalbox.replication.ports import LeaderChannel


class LeaderOffsets:
    """Two requests, one result: (start, end), or None if one of them failed."""

    __slots__ = ("_followed", "_found", "_on_result", "_replica_id")

    def __init__(
        self,
        followed: FollowedPartition,
        replica_id: int,
        on_result: Callable[[FollowedPartition, tuple[int, int] | None], None],
    ) -> None:
        self._followed = followed
        self._replica_id = replica_id
        self._on_result = on_result
        self._found: dict[int, int | None] = {}

    def ask(self, channel: LeaderChannel) -> None:
        """Send both; they are sent before the next fetch, so no parked fetch delays them."""
        for timestamp in (EARLIEST, LATEST):
            channel.send(self._request(timestamp), lambda answer, of=timestamp: self._take(of, answer))  # type: ignore[misc]

    def _request(self, timestamp: int) -> ListOffsetsRequest:
        topic_partition = self._followed.partition.topic_partition
        asked = ListOffsetsRequest.ListOffsetsPartition(
            partition_index=topic_partition.partition,
            current_leader_epoch=self._followed.leader_epoch,
            timestamp=timestamp,
        )
        topic = ListOffsetsRequest.ListOffsetsTopic(name=topic_partition.topic, partitions=[asked])
        return ListOffsetsRequest(replica_id=self._replica_id, topics=[topic])

    def _take(self, timestamp: int, answer: ListOffsetsResponse | Exception) -> None:
        self._found[timestamp] = None
        if isinstance(answer, ListOffsetsResponse):
            for topic in answer.topics:
                for entry in topic.partitions:
                    self._found[timestamp] = None if entry.error_code else entry.offset
        if len(self._found) == 2:
            start, end = self._found[EARLIEST], self._found[LATEST]
            self._on_result(self._followed, None if start is None or end is None else (start, end))
