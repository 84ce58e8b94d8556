from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import DeadlinePassed, VersionUnsupported
from signalbox.client.producer import Producer
from signalbox.client.rejections import AuthorizationFailed, InvalidTopic, PolicyViolated, RequestRejected, UnknownTopic
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster

LONG_MS = 50_000  # a call that ended only at its deadline would exceed the test's time


def reject_topics(cluster: LoopbackCluster, error: Error) -> None:
    """Metadata of every broker returns `error` for every topic."""
    for broker in cluster.brokers.values():

        def script(request: Any, version: int, broker: Any = broker) -> Any:
            response = broker.metadata(request)
            for topic in response.topics:
                topic.error_code, topic.partitions = error, []
            return response

        broker.scripts[ApiKey.METADATA] = script


@pytest.mark.spec("F11", "R10")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Error.POLICY_VIOLATION, PolicyViolated),
        (Error.TOPIC_AUTHORIZATION_FAILED, AuthorizationFailed),
        (Error.INVALID_TOPIC_EXCEPTION, InvalidTopic),
    ],
)
def test_a_final_error_of_the_topic_ends_the_call_at_once(error: Error, kind: type[RequestRejected]) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        reject_topics(cluster, error)
        async with asyncio.timeout(40):
            with pytest.raises(kind, match="topic t1 is not available"):
                await client.topic("t1", timeout_ms=LONG_MS)
            with pytest.raises(kind, match="partition t1-0 is not available"):
                await client.leader_of(TopicPartition("t1", 0), client.deadline(LONG_MS))
            async with Producer(client) as producer:
                with pytest.raises(kind):
                    await producer.send("t1", b"x")
        assert "t1" not in client.metadata_updater.topics, "it is not requested again with every refresh"

    with_client(test, api_timeout_ms=LONG_MS)


def test_an_error_that_was_mended_since_is_not_raised() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        reject_topics(cluster, Error.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(AuthorizationFailed):
            await client.topic("t1")
        for broker in cluster.brokers.values():
            broker.scripts.clear()
        assert (await client.topic("t1")).partitions

    with_client(test)


@pytest.mark.parametrize("error", [Error.LEADER_NOT_AVAILABLE, Error.UNKNOWN_SERVER_ERROR])
def test_other_errors_are_retried_to_the_deadline(error: Error) -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        reject_topics(cluster, error)
        with pytest.raises(DeadlinePassed, match=rf"topic t1 is not available \({error.name}\)"):
            await client.topic("t1", timeout_ms=200)

    with_client(test)


def test_a_topic_that_no_broker_knows_is_an_error_after_the_propagation_time() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with asyncio.timeout(40):
            with pytest.raises(UnknownTopic, match="topic never is not available: it does not exist"):
                await client.topic("never", timeout_ms=LONG_MS)
            with pytest.raises(UnknownTopic, match="partition t1-7 is not available"):
                await client.leader_of(TopicPartition("t1", 7), client.deadline(LONG_MS))

    with_client(test, topic_propagation_max_ms=100)


def test_a_client_that_creates_topics_waits_for_them() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        asyncio.get_running_loop().call_later(0.3, cluster.add_topic, "late", 1)
        assert (await client.topic("late")).partitions

    with_client(test, topic_propagation_max_ms=0, allow_auto_create_topics=True)


def test_a_client_that_every_bootstrap_server_rejects_is_not_kept_waiting() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        for broker in cluster.brokers.values():
            broker.max_versions[ApiKey.METADATA] = -1
        async with asyncio.timeout(40):
            for _ in range(2):  # a later call waits for the next round over the servers
                with pytest.raises(VersionUnsupported, match="Metadata"):
                    await client.topic("t1", timeout_ms=LONG_MS)
            with pytest.raises(VersionUnsupported, match="Metadata"):
                await client.request_any(MetadataRequest(topics=[]), timeout_ms=LONG_MS)
            cluster.brokers[2].max_versions.clear()
            assert (await client.topic("t2", timeout_ms=LONG_MS)).partitions

    with_client(test)


def test_a_response_without_the_topic_leaves_the_wait_to_its_deadline() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        for broker in cluster.brokers.values():

            def script(request: Any, version: int, broker: Any = broker) -> Any:
                return _without_topics(broker.metadata(request))

            broker.scripts[ApiKey.METADATA] = script
        with pytest.raises(DeadlinePassed, match=r"\(no metadata\)"):
            await client.topic("t1", timeout_ms=200)

    with_client(test)


def _without_topics(response: Any) -> MetadataResponse:
    response.topics = []
    return response  # type: ignore[no-any-return]
