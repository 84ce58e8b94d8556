"""The requests of this broker to the controller, as the ports of replication and broker define them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.connection.api_ranges import ApiRanges
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.testing.cluster import Cluster
from signalbox.wiring.broker_to_controller import ChannelAlterPartition, ChannelVersions


class Channel:
    """The part of the controller channel that is used here."""

    def __init__(self) -> None:
        self.api_ranges: ApiRanges | None = None
        self.submitted: list[asyncio.Future[Any]] = []

    def submit(self, message: Any, timeout_ms: float) -> asyncio.Future[Any]:
        self.submitted.append(asyncio.get_running_loop().create_future())
        return self.submitted[-1]


@pytest.mark.parametrize("ending", ["answer", "rejected", "broken", "cancelled"])
def test_each_result_is_reported_once(ending: str) -> None:
    async def scenario() -> None:
        channel, results = Channel(), list[Any]()
        sender = ChannelAlterPartition(channel, 1000)  # type: ignore[arg-type]
        sender.send(AlterPartitionRequest(), results.append)
        [future] = channel.submitted
        answer = AlterPartitionResponse()
        expected: Any = answer
        if ending == "answer":
            future.set_result(answer)
        elif ending == "rejected":
            future.set_exception(KafkaError(Error.REQUEST_TIMED_OUT))
            expected = Error.REQUEST_TIMED_OUT
        elif ending == "broken":
            future.set_exception(ValueError("a bug"))
            expected = Error.UNKNOWN_SERVER_ERROR
        else:
            future.cancel()
            expected = Error.NETWORK_EXCEPTION
        for _ in range(3):
            await asyncio.sleep(0)
        assert results == [expected]

    asyncio.run(scenario())


@pytest.mark.spec("F9")
def test_the_controllers_versions_are_known_before_the_first_request(cluster: Cluster) -> None:
    channel = cluster.nodes[1].components.controller_channels.channel

    # The first response shows that the connection is established.
    cluster.run(channel.request(AllocateProducerIdsRequest(broker_id=1), 5_000))
    versions = ChannelVersions(channel)
    ranges = versions.controller_ranges()
    assert ranges is not None
    assert (ranges[19], ranges[58]) == ((2, 7), (0, 0))
    assert versions.controller_ranges() is ranges
    assert ChannelVersions(Channel()).controller_ranges() is None  # type: ignore[arg-type]
