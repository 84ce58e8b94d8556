"""Followers dial their leaders on the inter-broker listener, and say whom they mean."""

from __future__ import annotations

import pytest

from signalbox.client.failures import ClientFailure
from signalbox.client.replica_channel import ReplicaChannel
from signalbox.testing.cluster import Cluster
from signalbox.wiring.leader_channels import LeaderConnector


def connector(cluster: Cluster, listener: str = "REPLICATION", cluster_id: str | None = None) -> LeaderConnector:
    around = cluster.nodes[1].parts.around
    return LeaderConnector(around.data_loop, around.cache, listener, cluster_id or around.cluster_id, around.guards)


def test_a_known_leader(cluster: Cluster) -> None:
    async def dial() -> bool:
        channel = await connector(cluster)(2)
        channel.close()
        return isinstance(channel, ReplicaChannel)

    assert cluster.run(dial())


def test_an_unknown_leader_and_an_unknown_listener(cluster: Cluster) -> None:
    for dial in (connector(cluster)(9), connector(cluster, "NOWHERE")(2)):
        with pytest.raises(LookupError, match="is not known on listener"):
            cluster.run(dial)


@pytest.mark.spec("R2")
def test_another_cluster_at_the_address_is_found_out(cluster: Cluster) -> None:
    with pytest.raises((ClientFailure, ConnectionError)):
        cluster.run(connector(cluster, cluster_id="another")(2))
