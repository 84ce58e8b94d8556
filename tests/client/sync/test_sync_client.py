from __future__ import annotations

import pytest

from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.rejections import UnknownTopic
from signalbox.client.sync.sync_client import SyncClient
from signalbox.testing.cluster import Cluster


@pytest.mark.spec("R10")
def test_admin_calls(client: SyncClient) -> None:
    client.call(client.admin.create_topics, [NewTopic(name="by-call", num_partitions=2)])
    assert "by-call" in client.call(client.admin.list_topics)
    assert len(client.call(client.admin.describe_cluster, timeout_ms=10_000).nodes) == 1


def test_errors_are_those_of_the_client(cluster: Cluster) -> None:
    with (
        SyncClient.of(cluster.bootstrap_servers, topic_propagation_max_ms=50) as client,
        client.producer() as producer,
        pytest.raises(UnknownTopic),
    ):
        producer.send("absent", b"x")


def test_a_closed_client_is_closed(cluster: Cluster) -> None:
    client = SyncClient.of(cluster.bootstrap_servers)
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.call(client.admin.list_topics)
