from __future__ import annotations

import asyncio

import pytest

from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.coordinator_metrics import CoordinatorMetrics


def test_only_responses_are_counted() -> None:
    async def run() -> None:
        metrics = CoordinatorMetrics()

        async def response() -> str:
            return "response"

        async def failure() -> str:
            raise ClientFailure("no response")

        assert await metrics.timed(metrics.heartbeat_ms, response()) == "response"
        with pytest.raises(ClientFailure):
            await metrics.timed(metrics.heartbeat_ms, failure())
        values = metrics.as_metrics()
        assert (values["heartbeat-total"], values["rebalance-total"]) == (1, 0)
        assert values["last-heartbeat-seconds-ago"] >= 0 > values["last-rebalance-seconds-ago"]

    asyncio.run(run())
