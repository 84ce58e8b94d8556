"""The admin client against scripted brokers: what is asked of whom, what is tried again, how answers become results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import DeadlinePassed
from signalbox.client.topic_admin import NewTopic
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.create_partitions import CreatePartitionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.protocol.messages.delete_topics import DeleteTopicsResponse
from signalbox.protocol.messages.describe_cluster import DescribeClusterResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster


def with_admin(test: Callable[[LoopbackCluster, AdminClient], Awaitable[None]], size: int = 1, **fields: Any) -> None:
    async def over_client(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await test(cluster, AdminClient(client))

    with_client(over_client, size, **fields)


def created(request: Any, *codes: int) -> CreateTopicsResponse:
    rows = [
        CreateTopicsResponse.CreatableTopicResult(
            name=topic.name, error_code=code, num_partitions=topic.num_partitions, replication_factor=1
        )
        for topic, code in zip(request.topics, codes, strict=True)
    ]
    return CreateTopicsResponse(topics=rows)


def test_topics_are_created_with_configs_and_assignments() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(request, 0, 0)
        outcomes = await admin.create_topics(
            [
                NewTopic(name="a", num_partitions=3, configs={"cleanup.policy": "compact"}),
                NewTopic(name="b", assignments={0: [1, 2], 1: [2, 1]}),
            ],
            validate_only=True,
        )
        assert [outcome.error for outcome in outcomes.values()] == [Error.NONE, Error.NONE]
        (request,) = broker.seen(ApiKey.CREATE_TOPICS)
        first, second = request.topics
        assert request.validate_only
        assert (first.num_partitions, first.replication_factor, first.configs[0].name) == (3, -1, "cleanup.policy")
        assert (second.num_partitions, [row.broker_ids for row in second.assignments]) == (-1, [[1, 2], [2, 1]])

    with_admin(test)


def test_only_what_waiting_heals_is_asked_again() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        answers = [(0, Error.NOT_CONTROLLER, Error.TOPIC_ALREADY_EXISTS), (Error.THROTTLING_QUOTA_EXCEEDED,), (0,)]
        broker.scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(request, *answers.pop(0))
        outcomes = await admin.create_topics([NewTopic(name=name) for name in "abc"])
        assert {name: row.error for name, row in outcomes.items()} == {
            "a": Error.NONE,
            "b": Error.NONE,
            "c": Error.TOPIC_ALREADY_EXISTS,
        }
        asked = [[topic.name for topic in row.topics] for row in broker.seen(ApiKey.CREATE_TOPICS)]
        assert asked == [["a", "b", "c"], ["b"], ["b"]]
        with pytest.raises(KafkaError, match="c: "):
            outcomes["c"].raise_for_error()

    with_admin(test)


def test_a_cluster_without_a_controller_costs_the_deadline_and_says_so() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.brokers[1].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(
            request, Error.NOT_CONTROLLER
        )
        with pytest.raises(KafkaError) as refusal:
            await admin.create_topic("a", timeout_ms=200)
        assert refusal.value.error == Error.NOT_CONTROLLER

    with_admin(test)


def test_a_lost_connection_moves_the_request_to_another_node() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        for node_id in (1, 2):
            cluster.brokers[node_id].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: None
        cluster.brokers[3].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(request, 0)
        assert (await admin.create_topic("a")).error == Error.NONE
        assert len(cluster.brokers[3].seen(ApiKey.CREATE_TOPICS)) == 1

    with_admin(test, size=3)


@pytest.mark.parametrize("version", [1, 5, 6])
def test_topics_are_deleted_by_name_at_every_version(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.DELETE_TOPICS] = version

        def answer(request: Any, version: int) -> Any:
            names = request.topic_names or [topic.name for topic in request.topics]
            rows = [
                DeleteTopicsResponse.DeletableTopicResult(name=name, error_code=0 if name == "a" else 3)
                for name in names
            ]
            return DeleteTopicsResponse(responses=rows)

        broker.scripts[ApiKey.DELETE_TOPICS] = answer
        outcomes = await admin.delete_topics(["a", "b"])
        assert [row.error for row in outcomes.values()] == [Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
        assert broker.requests[-1][1] == version

    with_admin(test)


def test_partitions_are_added() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        def answer(request: Any, version: int) -> Any:
            (asked,) = request.topics
            error = 0 if asked.count > 3 else Error.INVALID_PARTITIONS
            row = CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=asked.name, error_code=error, error_message="no fewer than now"
            )
            return CreatePartitionsResponse(results=[row])

        cluster.brokers[1].scripts[ApiKey.CREATE_PARTITIONS] = answer
        assert (await admin.create_partitions({"t1": 4}))["t1"].error == Error.NONE
        refused = (await admin.create_partitions({"t1": 2}))["t1"]
        assert (refused.error, refused.message) == (Error.INVALID_PARTITIONS, "no fewer than now")

    with_admin(test)


def test_topics_are_listed_and_described() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.add_topic("zeta", 1, 1)
        assert await admin.list_topics() == ["t1", "zeta"]
        described = await admin.describe_topics(["zeta", "nope"])
        assert [row.leader_id for row in described["zeta"].partitions.values()] == [1, 1]
        assert described["nope"].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
        assert not cluster.brokers[1].seen(ApiKey.METADATA)[-1].allow_auto_topic_creation

    with_admin(test)


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
        admin.client.keeper.pool.drop_all("so that versions are learnt again")
        assert [node.node_id for node in (await admin.describe_cluster()).nodes] == [1]

    with_admin(test)


def test_a_top_level_error_is_raised() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.brokers[1].scripts[ApiKey.DESCRIBE_CLUSTER] = lambda request, version: DescribeClusterResponse(
            error_code=Error.CLUSTER_AUTHORIZATION_FAILED, error_message="not you"
        )
        with pytest.raises(KafkaError, match="not you"):
            await admin.describe_cluster()

    with_admin(test)


def test_without_a_broker_the_call_ends_at_its_deadline() -> None:
    async def run() -> None:
        async with AdminClient.of("127.0.0.1:1", api_timeout_ms=150) as admin:
            with pytest.raises(DeadlinePassed):
                await admin.list_topics()
            with pytest.raises(DeadlinePassed):
                await admin.create_topic("a")

    asyncio.run(run())
