"""Components that both kinds of node have."""

from __future__ import annotations

import asyncio

from signalbox.wiring.broker_node_components import build_broker_node
from signalbox.wiring.controller_node import build_controller_node
from signalbox.wiring.node_components import NodeComponents, housekeeping_component, metrics_page_component
from tests.configuration.settings import config_of, controller_config_of
from tests.wiring.contexts import context_of


def test_both_kinds_have_housekeeping_that_stops_without_a_start() -> None:
    async def check(node: NodeComponents) -> None:
        assert node.cluster_id == "cluster"
        assert node.epochs.node_id == node.context.config.node_id
        housekeeping = housekeeping_component(node)
        await housekeeping.stop()  # type: ignore[misc]
        page = node.metrics_page
        assert page is not None
        assert [component.name for component in metrics_page_component(node)] == ["metrics page"]
        assert page.url == ""
        await page.start()
        assert page.url.startswith("http://127.0.0.1:")
        await page.stop()

    async def scenario() -> None:
        async with context_of(config_of(signalbox__metrics__http__port="0")) as context:
            await check(build_broker_node(context))
        async with context_of(controller_config_of(signalbox__metrics__http__port="0")) as context:
            await check(build_controller_node(context))

    asyncio.run(scenario())
