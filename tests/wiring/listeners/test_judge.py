"""Whether a broker could obey dynamic configs of its listeners."""

from __future__ import annotations

import pytest

from signalbox.metadata.entity_config import Configs
from signalbox.testing.cluster import Cluster
from signalbox.wiring.listeners.judge import ListenerJudge


def judge(cluster: Cluster) -> ListenerJudge:
    return cluster.nodes[1].parts.reload.judge


@pytest.mark.parametrize(
    ("configs", "fault"),
    [
        ({"listener.name.client.max.connections": "5"}, None),
        ({"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "10.0.0.7:1"}, None),
        ({"max.connections.per.ip": "0"}, "nobody could connect"),
        ({"max.connections.per.ip.overrides": "everybody"}, "everybody"),
        ({"log.retention.ms": "5", "num.partitions": "many"}, None),  # not about listeners
    ],
)
def test_what_would_be_wrong(cluster: Cluster, configs: Configs, fault: str | None) -> None:
    found = cluster.run(judge(cluster).faults(None, configs))
    assert found == cluster.run(judge(cluster).faults(configs, None))
    assert len(found) == (fault is not None)
    assert all(str(fault) in each for each in found)


def test_changed_are_the_keys_that_are_not_obeyed_so(cluster: Cluster) -> None:
    found = judge(cluster)
    assert found.obeyed == {}
    assert found.changed({}) == []
    assert found.changed({"max.connections": "5"}) == ["max.connections"]
