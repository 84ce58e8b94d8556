from __future__ import annotations

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Address
from signalbox.client.route_probe.route_report import report_routes
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster


def test_a_report_distinguishes_connected_verified_and_rejected_nodes() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.request_any(MetadataRequest(topics=[]))
        await client.request(1, MetadataRequest(topics=[]))
        metadata_updater = client.metadata_updater
        route = (2, Address(*cluster.advertised[2]))
        metadata_updater.pool.drop_node(3, "so that it is not connected")
        metadata_updater.pool.drop_node(2, "so that it is not connected")
        metadata_updater.quarantine.note_rejection(route, metadata_updater.now_ms())
        metadata_updater.quarantine.add(route, metadata_updater.now_ms())
        rows = {row.node_id: row for row in report_routes(metadata_updater)}
        assert (rows[1].connected, rows[1].verified, rows[1].quarantined, rows[1].rejections) == (True, True, False, 0)
        assert (rows[2].connected, rows[2].quarantined, rows[2].rejections) == (False, True, 1)
        assert (rows[3].connected, rows[3].verified, rows[3].rejections) == (False, False, 0)
        assert rows[2].address == Address(*cluster.advertised[2])

    with_client(test)
