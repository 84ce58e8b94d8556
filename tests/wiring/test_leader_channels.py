"""Followers connect to their leaders on the inter-broker listener and send the identity that they expect."""

from __future__ import annotations

import pytest

from signalbox.client.failures import Misrouted
from signalbox.client.inter_broker.replica_channel import ReplicaChannel
from signalbox.testing.cluster import Cluster
from signalbox.wiring.leader_channels import LeaderConnector


def connector(cluster: Cluster, *listeners: str, cluster_id: str | None = None) -> LeaderConnector:
    context = cluster.nodes[1].components.context
    return LeaderConnector(
        context.data_loop, context.cache, lambda _: listeners, cluster_id or context.cluster_id, context.security
    )


def test_a_known_leader(cluster: Cluster) -> None:
    async def dial() -> bool:
        channel = await connector(cluster, "REPLICATION")(2)
        channel.close()
        return isinstance(channel, ReplicaChannel)

    assert cluster.run(dial())


def test_an_unknown_leader_and_an_unknown_listener(cluster: Cluster) -> None:
    for dial in (connector(cluster, "REPLICATION")(9), connector(cluster, "NOWHERE")(2)):
        with pytest.raises(LookupError, match="is not known on listener"):
            cluster.run(dial)


@pytest.mark.spec("R2")
def test_another_cluster_at_the_address_is_found_out(cluster: Cluster) -> None:
    with pytest.raises(Misrouted):
        cluster.run(connector(cluster, "REPLICATION", cluster_id="another")(2))


@pytest.mark.spec("L12")
@pytest.mark.parametrize(
    ("listeners", "dialled"),
    [(("CONTROL", "REPLICATION"), "CONTROL"), (("ADDED-LATER", "REPLICATION"), "REPLICATION")],
)
def test_the_leaders_own_listener_comes_first_and_one_without_an_address_is_passed_over(
    cluster: Cluster, listeners: tuple[str, ...], dialled: str
) -> None:
    async def dial() -> str:
        channel = await connector(cluster, *listeners)(2)
        channel.close()
        return f"{channel.address.host}:{channel.address.port}"

    assert cluster.run(dial()) == cluster.nodes[2].describe()["listeners"][dialled]
