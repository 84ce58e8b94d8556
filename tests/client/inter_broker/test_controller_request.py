from __future__ import annotations

import asyncio

from signalbox.client.inter_broker.controller_request import ControllerRequest
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest


def test_requests_keep_the_place_they_came_at() -> None:
    async def run() -> None:
        future = asyncio.get_running_loop().create_future()
        first, second = (ControllerRequest(number, AllocateProducerIdsRequest(), future) for number in (1, 2))
        assert sorted([second, first]) == [first, second]

    asyncio.run(run())
