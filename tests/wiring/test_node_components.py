"""The components of a node belong together: each uses the same cache, epochs and audit trail."""

from __future__ import annotations

from signalbox.testing.cluster import Cluster


def test_shared_parts(cluster: Cluster) -> None:
    for node_id, node in cluster.nodes.items():
        components = node.components
        assert components.epochs.node_id == node_id
        assert components.cache is components.context.cache
        assert components.cache.image.is_alive(node_id)
        assert components.cluster_id == components.context.cluster_id
        assert components.epochs.broker_epoch > 0
