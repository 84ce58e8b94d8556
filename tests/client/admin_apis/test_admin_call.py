"""The rules of all admin calls: which errors are retried, on which broker, and for how long."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.admin_call import result_of
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_cluster import DescribeClusterResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.client.admin_apis.test_topic_admin import created
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin
from tests.waiting import until_true


def test_the_name_of_an_error_is_there_once() -> None:
    for message in ("SECURITY_DISABLED: there are no ACLs", "there are no ACLs"):
        with pytest.raises(KafkaError, match=r"^SECURITY_DISABLED: entry: there are no ACLs$"):
            result_of("entry", Error.SECURITY_DISABLED, message).raise_for_error()


def test_only_retriable_errors_are_retried() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        answers = [(0, Error.NOT_CONTROLLER, Error.TOPIC_ALREADY_EXISTS), (Error.THROTTLING_QUOTA_EXCEEDED,), (0,)]
        broker.scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(request, *answers.pop(0))
        results = await admin.create_topics([NewTopic(name=name) for name in "abc"])
        assert {name: row.error for name, row in results.items()} == {
            "a": Error.NONE,
            "b": Error.NONE,
            "c": Error.TOPIC_ALREADY_EXISTS,
        }
        asked = [[topic.name for topic in row.topics] for row in broker.seen(ApiKey.CREATE_TOPICS)]
        assert asked == [["a", "b", "c"], ["b"], ["b"]]
        with pytest.raises(KafkaError, match="c: "):
            results["c"].raise_for_error()

    with_admin(test)


def test_without_a_controller_the_call_fails_at_its_deadline_with_the_reason() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.brokers[1].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(
            request, Error.NOT_CONTROLLER
        )
        with pytest.raises(KafkaError) as rejection:
            await admin.create_topic("a", timeout_ms=200)
        assert rejection.value.error == Error.NOT_CONTROLLER

    with_admin(test)


def test_a_lost_connection_moves_the_request_to_another_node() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        for node_id in (1, 2):
            cluster.brokers[node_id].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: None
        cluster.brokers[3].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: created(request, 0)
        assert (await admin.create_topic("a")).error == Error.NONE
        assert len(cluster.brokers[3].seen(ApiKey.CREATE_TOPICS)) == 1

    with_admin(test, size=3)


@pytest.mark.spec("F13")
def test_each_change_goes_to_the_least_loaded_broker_without_a_controller_lookup() -> None:
    """Every broker's Metadata names broker 1 as the controller; the least loaded broker gets the request anyway."""

    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        may_answer = asyncio.Event()

        async def late(request: Any, version: int) -> Any:
            await may_answer.wait()
            return created(request, 0)

        def asked() -> list[int]:
            return [len(broker.seen(ApiKey.CREATE_TOPICS)) for broker in cluster.brokers.values()]

        def have_asked(count: int) -> bool:
            return sum(asked()) == count

        await admin.client.some_node(admin.client.deadline(None), set())
        for node_id, broker in cluster.brokers.items():
            broker.scripts[ApiKey.CREATE_TOPICS] = late
            await admin.client.request(node_id, MetadataRequest(topics=[]))  # connected nodes are preferred
        under_way = []
        for number in range(3):
            under_way.append(asyncio.ensure_future(admin.create_topic(f"t-{number}")))
            await until_true(partial(have_asked, number + 1))
        assert asked() == [1, 1, 1]
        may_answer.set()
        assert {result.error for result in await asyncio.gather(*under_way)} == {Error.NONE}

    with_admin(test, size=3)


def test_a_top_level_error_is_raised() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.brokers[1].scripts[ApiKey.DESCRIBE_CLUSTER] = lambda request, version: DescribeClusterResponse(
            error_code=Error.CLUSTER_AUTHORIZATION_FAILED, error_message="not you"
        )
        with pytest.raises(KafkaError, match="not you"):
            await admin.describe_cluster()

    with_admin(test)
