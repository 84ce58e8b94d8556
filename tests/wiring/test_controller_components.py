"""The controller of a node: built on the store, with metrics under Kafka's names."""

from __future__ import annotations

import asyncio

from signalbox.wiring.controller_components import build_controller, controller_inputs
from tests.configuration.settings import config_of
from tests.wiring.contexts import context_of


def test_it_has_not_joined_the_election() -> None:
    async def scenario() -> None:
        async with context_of(config_of(num__partitions="7")) as context:
            controller, peers = build_controller(context)
            values = {sample.name.name: sample.value for sample in context.telemetry.metrics.samples()}
            assert values["ActiveControllerCount"] == 0
            assert values["OfflinePartitionsCount"] == 0
            assert not controller.is_active
            assert controller_inputs(context).settings.num_partitions == 7
            await peers.close()

    asyncio.run(scenario())
