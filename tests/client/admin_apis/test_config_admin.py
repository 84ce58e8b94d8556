from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.config_admin import ConfigChange, ConfigResource
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_configs import DescribeConfigsResponse
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from signalbox.testing.cluster import Cluster
from tests.client.admin_apis.over_cluster import over_cluster
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin


def described(request: Any, error_code: int = 0) -> Any:
    (asked,) = request.resources
    made = DescribeConfigsResponse
    entry = made.DescribeConfigsResourceResult(name="retention.ms", value="5", config_source=1, config_type=5)
    row = made.DescribeConfigsResult(
        error_code=error_code,
        error_message=None,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[entry],
    )
    return made(results=[row])


def test_a_topics_configs_come_from_any_node() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = lambda request, version: described(request)
        configs = await admin.describe_configs(ConfigResource(ConfigResourceType.TOPIC, "t1"), ["retention.ms"])
        assert (configs["retention.ms"].value, configs["retention.ms"].is_default) == ("5", False)
        assert broker.seen(ApiKey.DESCRIBE_CONFIGS)[0].resources[0].configuration_keys == ["retention.ms"]

    with_admin(test)


def test_a_brokers_configs_come_from_that_broker() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.DESCRIBE_CONFIGS] = lambda request, version: described(request)
        await admin.describe_configs(ConfigResource(ConfigResourceType.BROKER, "2"))
        asked = [node_id for node_id, broker in cluster.brokers.items() if broker.seen(ApiKey.DESCRIBE_CONFIGS)]
        assert asked == [2]
        with pytest.raises(KafkaError, match="broker 9"):
            await admin.describe_configs(ConfigResource(ConfigResourceType.BROKER, "9"))

    with_admin(test, size=3)


def test_a_rejected_resource_is_an_error() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.brokers[1].scripts[ApiKey.DESCRIBE_CONFIGS] = lambda request, version: described(
            request, Error.TOPIC_AUTHORIZATION_FAILED
        )
        with pytest.raises(KafkaError, match="t1"):
            await admin.describe_configs(ConfigResource(ConfigResourceType.TOPIC, "t1"))

    with_admin(test)


def test_changes_are_sent_as_operations() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        def answer(request: Any, version: int) -> Any:
            made = IncrementalAlterConfigsResponse
            rows = [
                made.AlterConfigsResourceResponse(
                    resource_type=row.resource_type,
                    resource_name=row.resource_name,
                    error_code=0 if row.resource_name == "t1" else Error.INVALID_CONFIG,
                    error_message="bad value",
                )
                for row in request.resources
            ]
            return made(responses=rows)

        broker = cluster.brokers[1]
        broker.scripts[ApiKey.INCREMENTAL_ALTER_CONFIGS] = answer
        await admin.set_topic_configs("t1", {"retention.ms": "5", "cleanup.policy": None})
        (request,) = broker.seen(ApiKey.INCREMENTAL_ALTER_CONFIGS)
        sent = [(row.name, row.config_operation, row.value) for row in request.resources[0].configs]
        assert sent == [("retention.ms", AlterConfigOp.SET, "5"), ("cleanup.policy", AlterConfigOp.DELETE, None)]
        with pytest.raises(KafkaError, match="bad value"):
            await admin.set_topic_configs("t2", {"retention.ms": "x"})
        change = ConfigChange("follower.replication.throttled.replicas", "0:1", AlterConfigOp.APPEND)
        results = await admin.alter_configs(
            {ConfigResource(ConfigResourceType.TOPIC, "t1"): [change]}, validate_only=True
        )
        assert results["t1"].error == Error.NONE
        assert broker.seen(ApiKey.INCREMENTAL_ALTER_CONFIGS)[-1].validate_only

    with_admin(test)


def test_changes_of_a_broker_go_to_that_broker_and_others_anywhere() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        def answer(request: Any, version: int) -> Any:
            made = IncrementalAlterConfigsResponse
            rows = [
                made.AlterConfigsResourceResponse(resource_type=each.resource_type, resource_name=each.resource_name)
                for each in request.resources
            ]
            return made(responses=rows)

        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.INCREMENTAL_ALTER_CONFIGS] = answer
        names = ("2", "3", "9", "")  # broker 9 is down: its changes go to any broker
        changes = {ConfigResource(ConfigResourceType.BROKER, name): [ConfigChange("k", "v")] for name in names}
        results = await admin.alter_configs(changes)
        assert [results[name].error for name in names] == [Error.NONE] * 4
        asked = {
            node_id: [each.resource_name for request in requests for each in request.resources]
            for node_id, broker in cluster.brokers.items()
            if (requests := broker.seen(ApiKey.INCREMENTAL_ALTER_CONFIGS))
        }
        assert "2" in asked[2]
        assert "3" in asked[3]
        assert sorted(name for found in asked.values() for name in found) == sorted(names)

    with_admin(test, size=3)


@pytest.mark.spec("R10")
def test_resources_with_configs_are_listed(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        (await admin.create_topics([NewTopic(name="listed", num_partitions=1)]))["listed"].raise_for_error()
        await admin.client.topic("listed")
        listed = await admin.list_config_resources()
        assert {ConfigResource(ConfigResourceType.TOPIC, "listed"), ConfigResource(ConfigResourceType.BROKER, "1")} <= {
            *listed
        }
        brokers = await admin.list_config_resources([ConfigResourceType.BROKER])
        assert {resource.type for resource in brokers} == {ConfigResourceType.BROKER}

    over_cluster(cluster, test)
