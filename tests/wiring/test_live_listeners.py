"""A node's components for changing listeners are connected with each other."""

from __future__ import annotations

import pytest

from signalbox.testing.cluster import Cluster


@pytest.mark.spec("L8")
def test_what_is_announced_is_what_the_server_serves() -> None:
    with Cluster(brokers=1) as alone:
        node = alone.nodes[1]
        registrar, reload = node.components.registrar, node.components.reload
        before = registrar.broker_epoch

        async def announced() -> None:
            await reload._announce()

        alone.run(announced())
        assert registrar.broker_epoch == before
        assert registrar._registration is not None
        assert registrar._registration.endpoints == node.components.server.table.advertised_endpoints()
        assert alone.run(reload.validator.validate(None, {"max.connections.per.ip": "0"})).faults
