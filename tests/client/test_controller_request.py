from __future__ import annotations

import asyncio

import pytest

from signalbox.client.controller_request import ControllerRequest, says_not_controller
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from signalbox.protocol.messages.alter_partition import AlterPartitionResponse
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeResponse

_41 = Error.NOT_CONTROLLER


@pytest.mark.parametrize(
    "made", [EnvelopeResponse, AlterPartitionResponse, AllocateProducerIdsResponse, ControlledShutdownResponse]
)
def test_a_top_level_error_denies(made: type) -> None:
    assert says_not_controller(made(error_code=_41))
    assert not says_not_controller(made(error_code=0))
    assert not says_not_controller(made(error_code=Error.CLUSTER_AUTHORIZATION_FAILED))


def test_one_topic_is_enough() -> None:
    def answered(*codes: int) -> CreateTopicsResponse:
        made = CreateTopicsResponse.CreatableTopicResult
        return CreateTopicsResponse(topics=[made(name=str(code), error_code=code) for code in codes])

    assert says_not_controller(answered(0, _41, 0))
    assert not says_not_controller(answered(0, 36))
    assert not says_not_controller(answered())


def test_requests_keep_the_place_they_came_at() -> None:
    async def run() -> None:
        future = asyncio.get_running_loop().create_future()
        first, second = (ControllerRequest(number, AllocateProducerIdsRequest(), future) for number in (1, 2))
        assert sorted([second, first]) == [first, second]

    asyncio.run(run())
