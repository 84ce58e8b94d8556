"""Invalid changes from a client with all rights, through a broker that only forwards: each gets Kafka's error code and
a message that names the fault, and nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.limits import MAX_RESOURCES_PER_CHANGE
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.attackers import Bystander
from tests.system.clusters import BROKERS, RoutedCluster, controller_id
from tests.system.secured import USERS, admin_of, create, topics_of, topics_on
from tests.system.wire import Wire, dial, log_in
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F2")]

Topic = CreateTopicsRequest.CreatableTopic
Config = CreateTopicsRequest.CreatableTopicConfig
Assignment = CreateTopicsRequest.CreatableReplicaAssignment
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(scope="module")
def admin(secured: ProcessCluster) -> Iterator[Wire]:
    """An administrator's connection to a broker that is not the controller. There are two topics: `a.b` and that of the
    audit trail, which brokers create themselves. Every broker knows both, and no other topic is created
    automatically."""
    controller = until(lambda: max(controller_id(secured), 0), "a controller")
    create(admin_of(secured, "admin"), "a.b")
    for node_id in BROKERS:
        until(partial(_knows, secured, node_id, {"a.b", AUDIT_TOPIC}), f"both topics on broker {node_id}")
    with dial(secured, next(each for each in BROKERS if each != controller)) as wire:
        assert log_in(wire, "admin", USERS["admin"]) == 0
        yield wire


def _knows(cluster: ProcessCluster, node_id: int, topics: set[str]) -> bool:
    return topics <= topics_on(cluster, node_id)


def sized(name: str, partitions: int = 1, replicas: int = 1, **configs: str | None) -> Any:
    return Topic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[Config(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def placed(*partitions: tuple[int, list[int]]) -> Any:
    given = [Assignment(partition_index=index, broker_ids=brokers) for index, brokers in partitions]
    return Topic(name="placed", num_partitions=-1, replication_factor=-1, assignments=given)


@pytest.mark.parametrize(
    ("topic", "error", "named"),
    [
        (sized(""), Error.INVALID_TOPIC_EXCEPTION, "empty"),
        (sized("."), Error.INVALID_TOPIC_EXCEPTION, "'.'"),
        (sized(".."), Error.INVALID_TOPIC_EXCEPTION, "'..'"),
        (sized("x" * 250), Error.INVALID_TOPIC_EXCEPTION, "249"),
        (sized("../../etc/passwd"), Error.INVALID_TOPIC_EXCEPTION, "passwd"),
        (sized("two words"), Error.INVALID_TOPIC_EXCEPTION, "two words"),
        (sized("line\nbreak"), Error.INVALID_TOPIC_EXCEPTION, "break"),
        (sized("nul\0"), Error.INVALID_TOPIC_EXCEPTION, "nul"),
        (sized("grün"), Error.INVALID_TOPIC_EXCEPTION, "grün"),
        (sized("a_b"), Error.INVALID_TOPIC_EXCEPTION, "a.b"),
        (sized("a.b"), Error.TOPIC_ALREADY_EXISTS, "a.b"),
        (sized("__cluster_metadata"), Error.TOPIC_AUTHORIZATION_FAILED, ""),
        (sized("n", 0), Error.INVALID_PARTITIONS, ""),
        (sized("n", -2), Error.INVALID_PARTITIONS, ""),
        (sized("n", 2**31 - 1), Error.POLICY_VIOLATION, "partitions"),
        (sized("n", 1, 0), Error.INVALID_REPLICATION_FACTOR, ""),
        (sized("n", 1, -2), Error.INVALID_REPLICATION_FACTOR, ""),
        (sized("n", 1, 4), Error.INVALID_REPLICATION_FACTOR, "4"),
        (sized("n", 1, 32767), Error.INVALID_REPLICATION_FACTOR, "32767"),
        (sized("n", retention_ms="soon"), Error.INVALID_CONFIG, "soon"),
        (sized("n", retention_ms=None), Error.INVALID_CONFIG, "retention.ms"),
        (sized("n", retention_ms="-2"), Error.INVALID_CONFIG, "-2"),
        (sized("n", retention_ms="9" * 20), Error.INVALID_CONFIG, "retention.ms"),
        (sized("n", cleanup_policy="shred"), Error.INVALID_CONFIG, "shred"),
        (sized("n", compression_type="brotli"), Error.INVALID_CONFIG, "brotli"),
        (sized("n", min_insync_replicas="0"), Error.INVALID_CONFIG, "min.insync.replicas"),
        (sized("n", max_message_bytes="-1"), Error.INVALID_CONFIG, "max.message.bytes"),
        (sized("n", segment_bytes="1"), Error.INVALID_CONFIG, "segment.bytes"),
        (sized("n", min_cleanable_dirty_ratio="1.5"), Error.INVALID_CONFIG, "1.5"),
        (sized("n", message_timestamp_type="Now"), Error.INVALID_CONFIG, "Now"),
        (sized("n", unclean_leader_election_enable="perhaps"), Error.INVALID_CONFIG, "perhaps"),
        (sized("n", no_such_key="1"), Error.INVALID_CONFIG, "no.such.key"),
        (placed((0, [])), Error.INVALID_REPLICA_ASSIGNMENT, ""),
        (placed((0, [1, 1])), Error.INVALID_REPLICA_ASSIGNMENT, ""),
        (placed((0, [9])), Error.INVALID_REPLICA_ASSIGNMENT, "9"),
        (placed((1, [1])), Error.INVALID_REPLICA_ASSIGNMENT, ""),
        (placed((0, [1]), (1, [1, 2])), Error.INVALID_REPLICA_ASSIGNMENT, ""),
    ],
    ids=lambda value: value.name if isinstance(value, Error) else None,
)
def test_a_topic_that_cannot_be(secured: ProcessCluster, admin: Wire, topic: Any, error: Error, named: str) -> None:
    before = topics_of(secured)
    [result] = admin.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=5_000)).topics
    assert Error.of(result.error_code) is error, result.error_message
    assert result.error_message
    assert named in result.error_message
    assert topics_of(secured) == before


@pytest.mark.parametrize(
    ("name", "operation", "value", "error"),
    [
        ("retention.ms", SET, "soon", Error.INVALID_CONFIG),
        ("retention.ms", SET, None, Error.INVALID_REQUEST),
        ("retention.ms", APPEND, "5", Error.INVALID_CONFIG),
        ("retention.ms", 4, "5", Error.INVALID_REQUEST),
        ("retention.ms", -1, "5", Error.INVALID_REQUEST),
        ("cleanup.policy", APPEND, "shred", Error.INVALID_CONFIG),
        ("no.such.key", SET, "1", Error.INVALID_CONFIG),
        ("", SET, "1", Error.INVALID_CONFIG),
    ],
)
def test_a_change_of_configs_that_cannot_be(
    admin: Wire, name: str, operation: int, value: str | None, error: Error
) -> None:
    change = IncrementalAlterConfigsRequest.AlterableConfig(name=name, config_operation=operation, value=value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=2, resource_name="a.b", configs=[change]
    )
    body = IncrementalAlterConfigsRequest(resources=[resource])
    [result] = admin.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body).responses
    assert Error.of(result.error_code) is error, result.error_message
    assert result.error_message


@pytest.mark.slow
@pytest.mark.spec("F6")
def test_ten_thousand_topics_in_one_request(cluster: RoutedCluster) -> None:
    """Accepted up to the limit; beyond it the response names the limit. Meanwhile every broker serves other clients."""
    many = [sized(f"many-{number}") for number in range(MAX_RESOURCES_PER_CHANGE)]
    for node_id in BROKERS:
        with Bystander(cluster), dial(cluster, node_id) as wire:
            for topics, error in ((many, Error.NONE), ([*many, sized("one-more")], Error.POLICY_VIOLATION)):
                body = CreateTopicsRequest(topics=topics, timeout_ms=5_000, validate_only=True)
                results = wire.ask(ApiKey.CREATE_TOPICS, 7, body).topics
                assert [each.name for each in results] == [topic.name for topic in topics]
                assert {each.error_code for each in results} == {error}
                if error:
                    assert f"{len(topics)} resources in one request" in results[0].error_message
                    assert str(MAX_RESOURCES_PER_CHANGE) in results[0].error_message
            names = [DeleteTopicsRequest.DeleteTopicState(name=topic.name) for topic in many]
            gone = wire.ask(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=names, timeout_ms=5_000)).responses
            assert {each.error_code for each in gone} == {Error.UNKNOWN_TOPIC_OR_PARTITION}
            assert [each.name for each in gone] == [topic.name for topic in many]
            more = [DeleteTopicsRequest.DeleteTopicState(name=f"n-{number}") for number in range(200_000)]
            rejected = wire.ask(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=more, timeout_ms=5_000)).responses
            assert {each.error_code for each in rejected} == {Error.POLICY_VIOLATION}
            assert "200000 resources in one request" in rejected[0].error_message
