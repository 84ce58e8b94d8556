"""The controller, the leaders, and missing brokers and replicas, from the metadata file of a running cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.chaos.state_reader import state_in_file

from signalbox.testing.cluster import Cluster
from tests.tools.chaos.conftest import PARTITIONS


@pytest.fixture
def folder(signalbox_cluster: Cluster) -> Path:
    store = signalbox_cluster.nodes[1].config["signalbox.metadata.store"]
    return Path(str(store).removeprefix("sqlite:"))


def test_a_whole_cluster(signalbox_cluster: Cluster, topic: str, folder: Path) -> None:
    active = [node_id for node_id, node in signalbox_cluster.nodes.items() if node.components.controller.is_active]
    with state_in_file(folder) as state:
        assert [state.controller_id()] == active
        leaders = state.leaders(topic)
        assert sorted(leaders) == list(range(PARTITIONS))
        assert set(leaders.values()) == {1, 2, 3}
        assert {partition: replicas[0] for partition, replicas in state.replicas(topic).items()} == leaders
        assert state.replicas("no such topic") == {}
        assert state.what_is_missing(3) == ""


def test_a_broker_that_is_missing(folder: Path) -> None:
    with state_in_file(folder) as state:
        assert state.what_is_missing(4) == "only the brokers 1, 2, 3 are registered"
