from __future__ import annotations

from signalbox.client.admin import AdminClient
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.describe_cluster import DescribeClusterResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin


def test_the_cluster_is_described_by_old_and_new_brokers() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        row = DescribeClusterResponse.DescribeClusterBroker(broker_id=1, host="h", port=9092)
        broker.scripts[ApiKey.DESCRIBE_CLUSTER] = lambda request, version: DescribeClusterResponse(
            cluster_id="cluster-A", controller_id=1, brokers=[row]
        )
        described = await admin.describe_cluster()
        assert (described.cluster_id, described.controller_id) == ("cluster-A", 1)
        assert str(described.nodes[0].address) == "h:9092"
        broker.max_versions[ApiKey.DESCRIBE_CLUSTER] = -1
        admin.client.metadata_updater.pool.drop_all("so that versions are requested again")
        assert [node.node_id for node in (await admin.describe_cluster()).nodes] == [1]

    with_admin(test)
