"""The data side: logs that are open, and configs that reach the replicas."""

from __future__ import annotations

from signalbox.testing.cluster import Cluster
from signalbox.wiring.replica_side import _topic_config_changed


class Replicas:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def update_topic_config(self, topic: str) -> None:
        self.heard.append(topic)


def test_only_topics_configs_reach_replication() -> None:
    replicas = Replicas()
    for path in ("topics/t", "brokers/1", "users/u", "topics/with/slash"):
        _topic_config_changed(replicas, path, {})  # type: ignore[arg-type]
    assert replicas.heard == ["t", "with/slash"]


def test_a_running_side(cluster: Cluster) -> None:
    data = cluster.nodes[1].parts.data
    assert [directory.online for directory in data.logs.directories] == [True]
