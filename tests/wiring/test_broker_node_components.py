"""The components of a node belong together: each uses the same cache, epochs and audit trail."""

from __future__ import annotations

import pytest

from signalbox.testing.cluster import Cluster


def test_components_share_their_context(cluster: Cluster) -> None:
    for node_id, node in cluster.nodes.items():
        components = node.components
        assert components.epochs.node_id == node_id
        assert components.cache is components.context.cache
        assert components.cache.image.is_alive(node_id)
        assert components.cluster_id == components.context.cluster_id
        assert components.epochs.broker_epoch > 0


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
