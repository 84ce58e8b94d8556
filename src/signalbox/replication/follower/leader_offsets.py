"""Requests the log start and log end from a leader, after it returned OFFSET_OUT_OF_RANGE to a follower."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.replication.follower.followed_partition import FollowedPartition
from signalbox.replication.follower.leader_channel import ReconnectingChannel
from signalbox.replication.list_offsets import EARLIEST, LATEST


class LeaderOffsets:
    """Two requests, one result: (start, end), or None if one of them failed."""

    __slots__ = ("_followed", "_offsets_by_timestamp", "_on_result", "_replica_id")

    def __init__(
        self,
        followed: FollowedPartition,
        replica_id: int,
        on_result: Callable[[FollowedPartition, tuple[int, int] | None], None],
    ) -> None:
        self._followed = followed
        self._replica_id = replica_id
        self._on_result = on_result
        self._offsets_by_timestamp: dict[int, int | None] = {}

    def send_requests(self, channel: ReconnectingChannel) -> None:
        """Send both; they are sent before the next fetch, so no parked fetch delays them."""
        for timestamp in (EARLIEST, LATEST):
            channel.send(self._request(timestamp), partial(self._on_response, timestamp))

    def _request(self, timestamp: int) -> ListOffsetsRequest:
        topic_partition = self._followed.partition.topic_partition
        partition = ListOffsetsRequest.ListOffsetsPartition(
            partition_index=topic_partition.partition,
            current_leader_epoch=self._followed.leader_epoch,
            timestamp=timestamp,
        )
        topic = ListOffsetsRequest.ListOffsetsTopic(name=topic_partition.topic, partitions=[partition])
        return ListOffsetsRequest(replica_id=self._replica_id, topics=[topic])

    def _on_response(self, timestamp: int, response: ListOffsetsResponse | Exception) -> None:
        self._offsets_by_timestamp[timestamp] = None
        if isinstance(response, ListOffsetsResponse):
            for topic in response.topics:
                for entry in topic.partitions:
                    self._offsets_by_timestamp[timestamp] = None if entry.error_code else entry.offset
        if len(self._offsets_by_timestamp) == 2:
            start, end = self._offsets_by_timestamp[EARLIEST], self._offsets_by_timestamp[LATEST]
            self._on_result(self._followed, None if start is None or end is None else (start, end))
