from __future__ import annotations

import queue
import threading

import pytest

from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.rejections import UnknownTopic
from signalbox.client.sync.sync_client import SyncClient
from signalbox.testing.cluster import Cluster
from tests.waiting import until


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


@pytest.mark.spec("R10")
def test_close_ends_the_poll_of_another_thread(cluster: Cluster) -> None:
    client = SyncClient.of(cluster.bootstrap_servers)
    consumer = client.group_consumer(GroupConsumerSettings(group_id="left-open"))
    consumer.subscribe(["left-open"])
    failures: queue.SimpleQueue[Exception] = queue.SimpleQueue()

    def poll() -> None:
        try:
            while True:
                consumer.poll(60_000)
        except Exception as error:
            failures.put(error)

    polling = threading.Thread(target=poll, daemon=True)
    polling.start()
    until(lambda: consumer._consumer.member_id)
    client.close()
    assert "closed" in str(failures.get(timeout=60))
    polling.join()
    with pytest.raises(RuntimeError, match="closed"):
        _ = consumer._consumer._client.view
