"""`signalbox cluster`: the cluster as the listener of the bootstrap server shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signalbox.testing.cluster import Cluster


@pytest.mark.spec("F12")
def test_the_active_controller_is_named_each_time(run: Any, cluster: Cluster) -> None:
    [active] = {node.components.cache.image.controller_id for node in cluster.nodes.values()}
    for _ in range(6):
        assert json.loads(run("cluster", "describe", "--json").stdout)["controller"] == active
    assert f"; controller {active}\n" in run("cluster", "describe").stdout


def test_id_and_brokers(run: Any, cluster: Cluster) -> None:
    cluster_id = cluster.nodes[1].components.cluster_id
    assert run("cluster", "id").stdout == f"{cluster_id}\n"
    described = run("cluster", "describe").stdout
    assert cluster_id in described
    for node in cluster.nodes.values():
        listeners = node.describe()["listeners"]
        assert listeners["CLIENT"] in described
        assert listeners["REPLICATION"] not in described
