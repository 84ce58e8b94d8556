"""A node's parts for changing listeners are connected with each other."""

from __future__ import annotations

import pytest

from signalbox.testing.cluster import Cluster


@pytest.mark.spec("L8")
def test_what_is_announced_is_what_the_server_serves() -> None:
    with Cluster(brokers=1) as alone:
        node = alone.nodes[1]
        keeper, reload = node.parts.keeper, node.parts.reload
        before = keeper.broker_epoch

        async def announced() -> None:
            await reload._announce()

        alone.run(announced())
        assert keeper.broker_epoch == before
        assert keeper._registration is not None
        assert keeper._registration.endpoints == node.parts.server.table.advertised_endpoints()
        assert alone.run(reload.judge.judge(None, {"max.connections.per.ip": "0"})).faults
