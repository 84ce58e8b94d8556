"""A dedicated controller has the controller's handlers and no others (F15)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.broker.routes import CONTROLLER_ROUTES, ROUTES
from signalbox.protocol.api_table import API_TABLE, ApiKey
from tests.wiring.test_controller_node import controller_in


@pytest.mark.spec("F15")
def test_its_routes(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path)
        await node.start()
        router = node.components.router
        served = {row.api_key for row in ROUTES if router.route(row.api_key) is not None}
        await node.stop()
        assert served == {row.api_key for row in CONTROLLER_ROUTES}
        assert {ApiKey.ENVELOPE, ApiKey.ALTER_PARTITION, ApiKey.CREATE_TOPICS} < served
        assert all(API_TABLE[key].forwardable or API_TABLE[key].controller for key in served)
        assert not served & {ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER, ApiKey.LEADER_AND_ISR}

    asyncio.run(scenario())
