"""Two ListOffsets requests to a leader, one result."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.replication.follower.followed_partition import FollowedPartition
from signalbox.replication.follower.leader_channel import OnResponse, ReconnectingChannel
from signalbox.replication.follower.leader_offsets import LeaderOffsets
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D3")


class Channel:
    def __init__(self) -> None:
        self.sent: list[tuple[ListOffsetsRequest, OnResponse]] = []

    def send(self, request: Any, on_response: OnResponse) -> None:
        self.sent.append((request, on_response))

    def reconnect(self) -> None:
        raise AssertionError("only the fetcher reconnects")

    def close(self) -> None:
        self.sent.clear()


def listed(offset: int, error: int = 0) -> ListOffsetsResponse:
    entry = ListOffsetsResponse.ListOffsetsPartitionResponse(offset=offset, error_code=error)
    return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name=TOPIC, partitions=[entry])])


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ((listed(5), listed(9)), (5, 9)),
        ((listed(5), listed(-1, error=6)), None),
        ((ConnectionError("gone"), listed(9)), None),
    ],
)
def test_both_or_nothing(tmp_path: Path, answers: tuple[Any, Any], result: tuple[int, int] | None) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    partition = cluster.brokers[1].partition()
    followed, channel, found = FollowedPartition(partition, partition.local_log()), Channel(), list[Any]()
    LeaderOffsets(followed, 2, lambda state, range_: found.append((state, range_))).send_requests(
        cast(ReconnectingChannel, channel)
    )
    for (request, on_response), response in zip(channel.sent, answers, strict=True):
        assert found == []
        assert request.topics[0].partitions[0].current_leader_epoch == 0
        on_response(response)
    assert found == [(followed, result)]
