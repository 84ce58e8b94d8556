"""Alerts are written to a topic that is created when it is missing."""

from __future__ import annotations

import json

import pytest

from signalbox.pipeline.alerts.alert_topic import AlertError, AlertTopic
from signalbox.pipeline.alerts.rules import AlertRules
from signalbox.pipeline.offsets import ranges_between
from signalbox.pipeline.topic_client import TopicClient, new_reader, read_ranges
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    ResourcePattern,
    ResourceType,
)
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.pipeline.alerts.test_rules import rejected
from tests.pipeline.topics import Topics

pytestmark = pytest.mark.spec("P12")


def alerts_in(bootstrap: str, topic: str) -> list[dict[str, object]]:
    """The values of all records of a topic."""
    client = TopicClient(bootstrap, {}, "test")
    reader = new_reader(bootstrap, {}, "test")
    ranges = ranges_between(client.offsets([topic], "earliest"), client.offsets([topic], "latest"))
    found = [json.loads(value) for batch in read_ranges(reader, ranges) for value in batch.column("value").to_pylist()]
    reader.close()
    return found


def test_alerts_are_acknowledged_records(topics: Topics) -> None:
    topic = AlertTopic(topics.bootstrap, {}, "alerts-of-this-test")
    topic.create()
    topic.create()
    assert topic.write([]) == 0
    assert topic.write(AlertRules().alerts([rejected()])) == 1
    assert [alert["rule"] for alert in alerts_in(topics.bootstrap, "alerts-of-this-test")] == [
        "rejected_control_request"
    ]


def test_a_topic_that_cannot_be_created_is_named(topics: Topics) -> None:
    with pytest.raises(AlertError, match="topic not/a/name cannot be created"):
        AlertTopic(topics.bootstrap, {}, "not/a/name").create()


def test_a_topic_that_exists_needs_no_right_to_create_it() -> None:
    options = ClusterOptions(
        brokers=1, security="SASL_PLAINTEXT", users={"lake": "l-secret"}, authorize=True, topics={"there": 1}
    )
    with KafkaCluster(options) as cluster:
        entry = AccessControlEntry("User:lake", "*", AclOperation.WRITE, AclPermission.ALLOW)
        rights = [AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry) for name in ("there", "missing")]
        for result in cluster.client.call(cluster.client.admin.create_acls, rights).values():
            result.raise_for_error()
        config = cluster.client_config("lake").librdkafka()
        topic = AlertTopic(cluster.bootstrap_servers, config, "there")
        topic.create()
        assert topic.write(AlertRules().alerts([rejected()])) == 1
        with pytest.raises(AlertError, match=r"topic missing cannot be created: .*uthoriz"):
            AlertTopic(cluster.bootstrap_servers, config, "missing").create()
