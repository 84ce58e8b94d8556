"""A policy on a running cluster: the errors that clients of every version get for their topics and for internal ones
(SPEC F11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from signalbox.controller.ports import PolicyViolation
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.testing.cluster import Cluster
from tests.system.wire import Wire

pytestmark = pytest.mark.spec("F11")

_HERE = "tests.system.controller.test_topic_policy"


class NotMoreThanThree:
    """Rejects topics with more than three partitions; this includes `__consumer_offsets`."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        pass

    def validate(self, topic: str, partitions: int | None, *_: Any) -> None:
        if partitions is not None and partitions > 3:
            raise PolicyViolation(f"{topic} has {partitions} partitions, three are enough")


class RetentionStays:
    def __init__(self, configuration: Mapping[str, str]) -> None:
        pass

    def validate(self, resource_type: str, resource_name: str, configs: Mapping[str, str]) -> None:
        if "retention.ms" in configs:
            raise PolicyViolation("retention is decided elsewhere")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    overrides = {
        "create.topic.policy.class.name": f"{_HERE}.NotMoreThanThree",
        "alter.config.policy.class.name": f"{_HERE}.RetentionStays",
        "num.partitions": "5",
        "signalbox.audit.topic.partitions": "1",
    }
    with Cluster(overrides=overrides) as running:
        yield running


@pytest.fixture
def admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})


def every_client_address(cluster: Cluster) -> list[str]:
    return cluster.bootstrap_servers.split(",")


def test_the_error_names_the_reason(admin: AdminClient) -> None:
    with pytest.raises(KafkaException, match="three are enough") as rejected:
        admin.create_topics([NewTopic("wide", 4, 3)])["wide"].result(20)
    assert rejected.value.args[0].code() == Error.POLICY_VIOLATION
    admin.create_topics([NewTopic("narrow", 3, 3)])["narrow"].result(20)
    change = ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "narrow", incremental_configs=[change])
    with pytest.raises(KafkaException, match="decided elsewhere"):
        admin.incremental_alter_configs([resource])[resource].result(20)


@pytest.mark.parametrize("version", range(14))
def test_metadata_fails_at_once_on_every_broker(cluster: Cluster, version: int) -> None:
    """Only clients from version 10 on know POLICY_VIOLATION; older ones get another error at which they stop
    retrying."""
    expected = Error.POLICY_VIOLATION if version >= 10 else Error.TOPIC_AUTHORIZATION_FAILED
    asked = MetadataRequest.MetadataRequestTopic(name="by-itself")
    for address in every_client_address(cluster):
        with Wire(address) as wire:
            request = MetadataRequest(topics=[asked], allow_auto_topic_creation=True)
            answer: MetadataResponse = wire.ask(ApiKey.METADATA, version, request)
            assert [(topic.name, topic.error_code) for topic in answer.topics] == [("by-itself", expected)]


@pytest.mark.parametrize("version", [4, 6])
def test_find_coordinator_names_the_topic_that_cannot_be_created(cluster: Cluster, version: int) -> None:
    for address in every_client_address(cluster):
        with Wire(address) as wire:
            request = FindCoordinatorRequest(coordinator_keys=["g"])
            answer: FindCoordinatorResponse = wire.ask(ApiKey.FIND_COORDINATOR, version, request)
            [found] = answer.coordinators
            assert found.error_code == Error.COORDINATOR_NOT_AVAILABLE
            assert found.error_message == "__consumer_offsets has 4 partitions, three are enough"
