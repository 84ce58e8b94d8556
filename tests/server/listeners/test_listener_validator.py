"""Whether a broker could apply dynamic configs of its listeners."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.metadata.entries.entity_config import Configs
from signalbox.server.listeners.listener_validator import ListenerValidator
from signalbox.testing.cluster import Cluster
from tests.waiting import until_true


def validator(cluster: Cluster) -> ListenerValidator:
    return cluster.nodes[1].components.reload.validator


@pytest.mark.parametrize(
    ("configs", "fault"),
    [
        ({"listener.name.client.max.connections": "5"}, None),
        ({"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "10.0.0.7:1"}, None),
        ({"max.connections.per.ip": "0"}, "no client could connect"),
        ({"max.connections.per.ip.overrides": "everybody"}, "everybody"),
        ({"log.retention.ms": "5", "num.partitions": "many"}, None),  # no config of a listener
    ],
)
def test_what_would_be_wrong(cluster: Cluster, configs: Configs, fault: str | None) -> None:
    found = cluster.run(validator(cluster).validate(None, configs)).faults
    assert found == cluster.run(validator(cluster).validate(configs, None)).faults
    assert len(found) == (fault is not None)
    assert all(str(fault) in each for each in found)


def test_changed_keys_are_those_not_applied_yet(cluster: Cluster) -> None:
    found = validator(cluster)
    assert found.applied == {}
    assert found.changed({}) == []
    assert found.changed({"max.connections": "5"}) == ["max.connections"]


@pytest.mark.spec("L5")
def test_addresses_that_a_lower_limit_would_cut_off(cluster: Cluster) -> None:
    port = cluster.nodes[1].components.server.table.row("CLIENT").port

    async def main() -> None:
        writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(3)]
        await until_true(lambda: validator(cluster)._server._quotas.count_of("CLIENT") == 3)
        (warning,) = (await validator(cluster).validate(None, {"max.connections.per.ip": "2"})).warnings
        assert "127.0.0.1 has 3 connections to node 1 open and would be limited to 2" in warning
        assert not (await validator(cluster).validate(None, {"max.connections.per.ip": "3"})).warnings
        for writer in writers:
            writer.close()

    cluster.run(main())
