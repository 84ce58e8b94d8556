"""Topics against scripted brokers: the requests, and how responses become results."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.protocol.messages.delete_topics import DeleteTopicsResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin


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
        results = await admin.create_topics(
            [
                NewTopic(name="a", num_partitions=3, configs={"cleanup.policy": "compact"}),
                NewTopic(name="b", assignments={0: [1, 2], 1: [2, 1]}),
            ],
            validate_only=True,
        )
        assert [result.error for result in results.values()] == [Error.NONE, Error.NONE]
        (request,) = broker.seen(ApiKey.CREATE_TOPICS)
        first, second = request.topics
        assert request.validate_only
        assert (first.num_partitions, first.replication_factor, first.configs[0].name) == (3, -1, "cleanup.policy")
        assert (second.num_partitions, [row.broker_ids for row in second.assignments]) == (-1, [[1, 2], [2, 1]])

    with_admin(test)


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
        results = await admin.delete_topics(["a", "b"])
        assert [row.error for row in results.values()] == [Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
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
        rejected = (await admin.create_partitions({"t1": 2}))["t1"]
        assert (rejected.error, rejected.message) == (Error.INVALID_PARTITIONS, "no fewer than now")

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
