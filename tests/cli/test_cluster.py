"""`signalbox cluster`: the cluster as the listener of the bootstrap server shows it."""

from __future__ import annotations

from typing import Any

from signalbox.testing.cluster import Cluster


def test_id_and_brokers(run: Any, cluster: Cluster) -> None:
    cluster_id = cluster.nodes[1].components.cluster_id
    assert run("cluster", "id").stdout == f"{cluster_id}\n"
    described = run("cluster", "describe").stdout
    assert cluster_id in described
    for node in cluster.nodes.values():
        listeners = node.describe()["listeners"]
        assert listeners["CLIENT"] in described
        assert listeners["REPLICATION"] not in described
