"""ACLs created and deleted while producers and consumers run, through brokers that are not the controller, by
unmodified clients and Kafka's tools."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.error_table import Error, error_codes
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import AclOperation as Op
from tests.system.clusters import BROKERS, controller_id, has_another_controller
from tests.system.console_tools import tool
from tests.system.guarded import (
    Guarded,
    admin_of,
    allow,
    allow_at,
    ask,
    command_config,
    creation,
    described,
    forbid_at,
    known_everywhere,
    login,
    make_topic,
    only_for,
    set_user,
    signalbox,
    tools_login,
)
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)

EVERYTHING = DeleteAclsRequest.DeleteAclsFilter(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)
_STEPS = (
    (AclOperation.READ, AclOperation.WRITE),
    (AclOperation.ALTER, AclOperation.DELETE),
    (AclOperation.DESCRIBE_CONFIGS,),
)


def send(producer: Producer, topic: str) -> KafkaError | None:
    """Produces one record; its delivery error, or None."""
    ended: list[KafkaError | None] = []
    producer.produce(topic, b"x", on_delivery=lambda error, message: ended.append(error))
    assert producer.flush(30) == 0
    return ended[0]


@pytest.mark.spec("F1", "F2")
def test_librdkafkas_admin_client_creates_describes_and_deletes(guarded: Guarded) -> None:
    admin = admin_of(guarded)
    wanted = [allow("carol", AclOperation.READ, "c"), allow("carol", AclOperation.WRITE, "c")]
    for created in admin.create_acls(wanted).values():
        created.result(30)
    assert sorted(admin.describe_acls(only_for("carol")).result(30)) == sorted(wanted)
    [deleted] = admin.delete_acls([only_for("carol")]).values()
    assert sorted(deleted.result(30)) == sorted(wanted)
    known_everywhere(guarded, "carol", None, 0)


@pytest.mark.spec("F4")
def test_who_may_not_alter_the_cluster_makes_no_acl_by_any_broker(guarded: Guarded) -> None:
    set_user(guarded, "mallory", "mallory-s3cret")
    for node_id in BROKERS:
        for message in (creation("mallory", Op.WRITE, "c"), DeleteAclsRequest(filters=[EVERYTHING])):
            answer = ask(guarded, node_id, message, "mallory", "mallory-s3cret")
            assert set(error_codes(answer)) == {Error.CLUSTER_AUTHORIZATION_FAILED}
        response = ask(guarded, node_id, DescribeAclsRequest(), "mallory", "mallory-s3cret")
        assert (response.error_code, response.resources) == (Error.CLUSTER_AUTHORIZATION_FAILED, [])
    known_everywhere(guarded, "mallory", None, 0)


@pytest.mark.spec("F1", "F2", "F4")
def test_a_producer_is_rejected_then_allowed_and_stopped_at_once(guarded: Guarded) -> None:
    """The changes go through brokers that are not the controller and forward them."""
    topic, settings = make_topic(guarded, "guarded-topic"), login(guarded, "dave", "dave-s3cret")
    set_user(guarded, "dave", "dave-s3cret", guarded.follower)
    rejected = send(Producer(settings), topic)
    assert rejected is not None
    assert rejected.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    allow_at(guarded, guarded.follower, "dave", Op.WRITE, topic)
    producer = Producer(settings)
    assert [send(producer, topic) for _ in range(50)] == [None] * 50
    forbid_at(guarded, guarded.follower, "dave", topic)
    stopped = send(producer, topic)
    assert stopped is not None
    assert stopped.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.spec("F1")
def test_a_consumer_is_stopped_at_once(guarded: Guarded) -> None:
    topic, user = make_topic(guarded, "guarded-reading"), "judy"
    set_user(guarded, user, "judy-s3cret")
    join = AclBinding(
        ResourceType.GROUP,
        user,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    admin_of(guarded).create_acls([join])[join].result(30)
    allow_at(guarded, guarded.follower, user, Op.READ, topic)
    producer = Producer(login(guarded))
    consumer = Consumer({**login(guarded, user, "judy-s3cret"), "group.id": user, "fetch.wait.max.ms": 1})
    consumer.assign([TopicPartition(topic, 0, 0)])

    def next_value() -> str:
        message = until(lambda: consumer.poll(0.5), "a message")
        error = message.error()
        return error.name() if error is not None else (message.value() or b"").decode()

    for number in range(30):
        producer.produce(topic, str(number))
        producer.flush(30)
        assert next_value() == str(number)
    forbid_at(guarded, guarded.follower, user, topic)
    producer.produce(topic, b"secret")
    producer.flush(30)
    assert next_value() == "TOPIC_AUTHORIZATION_FAILED"
    consumer.close()


@pytest.mark.spec("F2")
def test_our_own_command_line_logs_in_as_kafkas_tools_do(guarded: Guarded, tmp_path: Path) -> None:
    set_user(guarded, "ivan", "ivan-s3cret")
    at = ("--bootstrap-server", guarded.brokers[1].address("CLIENT"))
    files = [command_config(tmp_path), command_config(tmp_path, "ivan", "ivan-s3cret")]
    as_admin, as_ivan = (partial(signalbox, "--command-config", file) for file in files)
    rejected = as_ivan("acl", "list", *at)
    assert rejected.returncode == 1
    assert "CLUSTER_AUTHORIZATION_FAILED" in rejected.stderr
    cluster = ("--cluster", "--principal", "User:ivan")
    assert as_admin("acl", "create", *cluster, "--operation", "DESCRIBE", *at).returncode == 0
    known_everywhere(guarded, "ivan", None, 1)
    assert "User:ivan" in as_ivan("acl", "list", *at).stdout
    assert as_admin("acl", "delete", *cluster, *at).returncode == 0


@pytest.mark.slow
@pytest.mark.spec("F2")
def test_kafka_acls(guarded: Guarded, tmp_path: Path) -> None:
    at = tools_login(guarded, tmp_path)
    frank = [
        "--allow-principal",
        "User:frank",
        "--producer",
        "--topic",
        "frank-",
        "--resource-pattern-type",
        "prefixed",
    ]
    assert "Adding ACLs for resource" in tool("kafka-acls", *at, "--add", *frank)
    listed = tool("kafka-acls", *at, "--list", "--topic", "frank-1", "--resource-pattern-type", "match")
    assert "resourceType=TOPIC, name=frank-, patternType=PREFIXED" in listed
    found = re.findall(r"principal=User:frank, host=\*, operation=(\w+), permissionType=ALLOW", listed)
    assert sorted(found) == ["CREATE", "DESCRIBE", "WRITE"]
    tool("kafka-acls", *at, "--add", "--deny-principal", "User:frank", "--operation", "All", "--cluster")
    assert "permissionType=DENY" in tool("kafka-acls", *at, "--list", "--principal", "User:frank")
    tool("kafka-acls", *at, "--remove", "--force", *frank)
    tool("kafka-acls", *at, "--remove", "--force", "--deny-principal", "User:frank", "--operation", "All", "--cluster")
    assert "User:frank" not in tool("kafka-acls", *at, "--list")


@pytest.mark.spec("F1", "M3")
def test_the_next_controller_knows_every_acl_and_user(guarded: Guarded) -> None:
    """Every change that was acknowledged before the controller was killed is stored, and its successor continues from
    that state."""
    admin = admin_of(guarded)
    for number in range(3):
        for created in admin.create_acls([allow("kim", operation, "kept") for operation in _STEPS[number]]).values():
            created.result(30)
        set_user(guarded, f"kim-{number}", "kim-s3cret")
        killed = until(lambda: max(controller_id(guarded), 0), "a controller")
        guarded.kill(killed)
        until(partial(has_another_controller, guarded, killed), "another controller")
        guarded.start_broker(killed)
    kept = {binding.operation for binding in admin.describe_acls(only_for("kim")).result(30)}
    assert kept == {operation for step in _STEPS for operation in step}
    known_everywhere(guarded, "kim", None, 5)
    descriptions = described(admin, *(f"kim-{number}" for number in range(3)))
    assert all(future.result(30).scram_credential_infos for future in descriptions.values())
    [deleted] = admin.delete_acls([only_for("kim")]).values()
    assert len(deleted.result(30)) == 5


@pytest.mark.spec("F14")
def test_the_audit_trail_names_principal_and_user_and_no_secret_is_written_down(guarded: Guarded) -> None:
    set_user(guarded, "heidi", "heidi-s3cret", guarded.follower)
    allow_at(guarded, guarded.follower, "heidi", Op.READ, "h")
    consumer = Consumer({**login(guarded), "group.id": "auditor", "auto.offset.reset": "earliest"})
    consumer.subscribe([AUDIT_TOPIC])
    events: list[str] = []

    def audited() -> bool:
        messages = consumer.consume(1_000, timeout=0.2)
        events.extend((message.value() or b"").decode() for message in messages if message.error() is None)
        return len(found()) >= 2

    def found() -> list[str]:
        wanted = ("ALTER_USER_SCRAM_CREDENTIALS", "heidi"), ("CREATE_ACLS", "TOPIC:h User:heidi")
        return [event for event in events for pair in wanted if all(text in event for text in pair)]

    until(audited, "both changes in the audit trail")
    consumer.close()
    assert all('"User:admin"' in event for event in found())
    audit = "".join(events)
    logs = "".join(broker.log_file.read_text(errors="replace") for broker in guarded.brokers.values())
    for secret in ("s3cret", "stored_key", "server_key"):
        assert secret not in audit
        assert secret not in logs
