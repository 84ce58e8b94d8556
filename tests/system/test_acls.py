"""ACLs and SCRAM users of a cluster that was given its first user before its first start: made and removed while it
runs, through brokers that are not the controller, by unmodified clients and Kafka's tools."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic

from signalbox.client.admin import AdminClient as OwnAdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import BROKERS, QUICK, controller_id, until
from tests.system.console_tools import tool
from tests.system.provision import command, jars

NEEDS = (partial(command, "javac"), partial(jars, "tools"))
pytestmark = pytest.mark.timeout(240)

_LISTENERS = ("CLIENT", "REPLICATION", "CONTROL")
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_PASSWORD = "first-s3cret"
_ALLOW = AclPermissionType.ALLOW
_STEPS = (
    (AclOperation.READ, AclOperation.WRITE),
    (AclOperation.ALTER, AclOperation.DELETE),
    (AclOperation.DESCRIBE_CONFIGS,),
)


class Guarded(ProcessCluster):
    """Every listener wants SCRAM, and nobody stands in a login module: `admin`, whom the brokers log in by as well, was
    added to the store by `signalbox storage format`."""

    def __init__(self, folder: Path) -> None:
        overrides = {
            **QUICK,
            "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in _LISTENERS),
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin",
        }
        jaas = f'{_MODULE} username="admin" password="{_PASSWORD}";'
        for name in _LISTENERS:
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                overrides[f"listener.name.{name.lower()}.{mechanism}.sasl.jaas.config"] = jaas
        super().__init__(folder, overrides=overrides)
        self.admins: dict[int | None, AdminClient] = {}  # a client that nobody holds ends with its request under way

    def start(self) -> None:
        file = self.folder / "before.properties"
        file.write_text(
            f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\nmetadata.store=sqlite:{self.folder / 'metadata.db'}\n"
        )
        user = f"SCRAM-SHA-256=[name=admin,password={_PASSWORD}]"
        assert signalbox("storage", "format", "--config", str(file), "--add-scram", user).returncode == 0
        super().start()

    @property
    def follower(self) -> int:
        """A broker that is not the controller."""
        controller = until(lambda: max(controller_id(self), 0), "a controller")
        return next(node_id for node_id in BROKERS if node_id != controller)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with Guarded(tmp_path_factory.mktemp("guarded")) as cluster:
        yield cluster


def login(
    cluster: ProcessCluster, user: str = "admin", password: str = _PASSWORD, node_id: int | None = None, bits: int = 256
) -> dict[str, Any]:
    """Client settings; one broker alone as bootstrap when `node_id` is given."""
    servers = cluster.bootstrap() if node_id is None else cluster.brokers[node_id].address("CLIENT")
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": f"SCRAM-SHA-{bits}",
        "sasl.username": user,
        "sasl.password": password,
        "log_level": 0,
    }


def admin_at(cluster: Guarded, node_id: int | None = None) -> AdminClient:
    if node_id not in cluster.admins:
        cluster.admins[node_id] = AdminClient(login(cluster, node_id=node_id))
    return cluster.admins[node_id]


def set_user(cluster: Guarded, user: str, password: str, node_id: int | None = None, bits: int = 256) -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256 if bits == 256 else ScramMechanism.SCRAM_SHA_512
    upsertion = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), password.encode())
    admin_at(cluster, node_id).alter_user_scram_credentials([upsertion])[user].result(30)


def make_topic(cluster: Guarded, name: str) -> str:
    new = NewTopic(name, 1, replication_factor=3)
    admin_at(cluster).create_topics([new], operation_timeout=20)[name].result(30)
    return name


def allow(user: str, operation: AclOperation, topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        _ALLOW,
    )


def only_for(user: str) -> AclBindingFilter:
    """The ACLs of a user, wherever."""
    return AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        f"User:{user}",
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def known_everywhere(cluster: Guarded, user: str, count: int) -> None:
    """DescribeAcls shows what is stored, on any broker: each one that has answered obeys it. librdkafka asks whom it
    likes, so our own client asks each."""
    asked = DescribeAclsRequest(
        resource_type_filter=1, pattern_type_filter=1, principal_filter=f"User:{user}", operation=1, permission_type=1
    )
    asked.resource_name_filter = asked.host_filter = None
    module = f'{_MODULE} username="admin" password="{_PASSWORD}";'
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": module}
    settings = ClientSettings.from_properties({**properties, "bootstrap.servers": cluster.bootstrap()})

    async def ask() -> None:
        async with OwnAdminClient(ClusterClient(settings)) as admin:
            for node_id in BROKERS:
                while node_id not in admin.client.view.nodes:
                    await admin.client.some_node(admin.client.deadline(10_000), set())
                answer = await admin.client.request(node_id, asked, timeout_ms=10_000)
                assert sum(len(resource.acls) for resource in answer.resources) == count

    asyncio.run(ask())


def let_in(cluster: ProcessCluster, user: str, password: str, node_id: int, bits: int = 256) -> bool:
    """Whether a broker lets a fresh connection in."""
    failed: list[KafkaError] = []
    client = AdminClient({**login(cluster, user, password, node_id, bits), "error_cb": failed.append})
    for _ in range(200):
        try:
            client.list_topics(timeout=0.1)
            return True
        except KafkaException:
            client.poll(0)
        if any(error.code() == KafkaError._AUTHENTICATION for error in failed):
            return False
    raise AssertionError(f"broker {node_id} neither let {user} in nor kept him out")


def send(producer: Producer, topic: str) -> KafkaError | None:
    """What became of one record."""
    ended: list[KafkaError | None] = []
    producer.produce(topic, b"x", on_delivery=lambda error, message: ended.append(error))
    assert producer.flush(30) == 0
    return ended[0]


@pytest.mark.spec("F1", "F2", "F4")
def test_made_told_and_removed_through_brokers_that_only_forward(guarded: Guarded) -> None:
    node_id = guarded.follower
    admin = admin_at(guarded, node_id)
    wanted = [allow("carol", AclOperation.READ, "c"), allow("carol", AclOperation.WRITE, "c")]
    for created in admin.create_acls(wanted).values():
        created.result(30)
    for each in BROKERS:
        assert sorted(admin_at(guarded, each).describe_acls(only_for("carol")).result(30)) == sorted(wanted)
    [deleted] = admin.delete_acls([only_for("carol")]).values()
    assert sorted(deleted.result(30)) == sorted(wanted)
    known_everywhere(guarded, "carol", 0)


@pytest.mark.spec("F4")
def test_who_may_not_alter_the_cluster_makes_no_acl_by_any_broker(guarded: Guarded) -> None:
    set_user(guarded, "mallory", "mallory-s3cret")
    for node_id in BROKERS:
        until(partial(let_in, guarded, "mallory", "mallory-s3cret", node_id), f"mallory on broker {node_id}")
        client = AdminClient(login(guarded, "mallory", "mallory-s3cret", node_id))
        [created] = client.create_acls([allow("mallory", AclOperation.WRITE, "c")]).values()
        with pytest.raises(KafkaException, match="CLUSTER_AUTHORIZATION_FAILED"):
            created.result(30)
    known_everywhere(guarded, "mallory", 0)


@pytest.mark.spec("F1", "F4", "D")
def test_a_producer_is_refused_then_allowed_and_stopped_at_once(guarded: Guarded) -> None:
    topic, settings = make_topic(guarded, "guarded-topic"), login(guarded, "dave", "dave-s3cret")
    set_user(guarded, "dave", "dave-s3cret")
    for node_id in BROKERS:
        until(partial(let_in, guarded, "dave", "dave-s3cret", node_id), f"dave on broker {node_id}")
    refused = send(Producer(settings), topic)
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    admin = admin_at(guarded, guarded.follower)
    [created] = admin.create_acls([allow("dave", AclOperation.WRITE, topic)]).values()
    created.result(30)
    known_everywhere(guarded, "dave", 1)
    producer = Producer(settings)
    assert [send(producer, topic) for _ in range(50)] == [None] * 50
    [deleted] = admin.delete_acls([only_for("dave")]).values()
    assert len(deleted.result(30)) == 1
    known_everywhere(guarded, "dave", 0)
    stopped = send(producer, topic)
    assert stopped is not None
    assert stopped.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.spec("F1", "D")
def test_a_consumer_is_stopped_at_once(guarded: Guarded) -> None:
    topic, user = make_topic(guarded, "guarded-reading"), "judy"
    set_user(guarded, user, "judy-s3cret")
    join = AclBinding(
        ResourceType.GROUP, user, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation.READ, _ALLOW
    )
    for created in admin_at(guarded).create_acls([allow(user, AclOperation.READ, topic), join]).values():
        created.result(30)
    known_everywhere(guarded, user, 2)
    for node_id in BROKERS:
        until(partial(let_in, guarded, user, "judy-s3cret", node_id), f"{user} on broker {node_id}")
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
    gone = AclBindingFilter(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, None, None, AclOperation.READ, _ALLOW
    )
    [deleted] = admin_at(guarded, guarded.follower).delete_acls([gone]).values()
    assert len(deleted.result(30)) == 1
    known_everywhere(guarded, user, 1)
    producer.produce(topic, b"secret")
    producer.flush(30)
    assert next_value() == "TOPIC_AUTHORIZATION_FAILED"
    consumer.close()


@pytest.mark.spec("L7", "F1", "F2")
@pytest.mark.parametrize("bits", [256, 512])
def test_a_user_made_while_the_cluster_runs_logs_in_on_another_broker(guarded: Guarded, bits: int) -> None:
    user, made_at = f"erin-{bits}", guarded.follower
    others = [node_id for node_id in BROKERS if node_id != made_at]
    for node_id in BROKERS:
        assert not let_in(guarded, user, "erin-s3cret", node_id, bits)
    set_user(guarded, user, "erin-s3cret", made_at, bits)
    for node_id in others:
        until(partial(let_in, guarded, user, "erin-s3cret", node_id, bits), f"{user} on broker {node_id}")
        assert not let_in(guarded, user, "guess", node_id, bits)
    admin = admin_at(guarded, made_at)
    told = admin.describe_user_scram_credentials([user])[user].result(30)
    assert [info.iterations for info in told.scram_credential_infos] == [4096]
    set_user(guarded, user, "another-s3cret", made_at, bits)
    for node_id in others:
        until(partial(let_in, guarded, user, "another-s3cret", node_id, bits), "the new password")
        assert not let_in(guarded, user, "erin-s3cret", node_id, bits)
    mechanism = ScramMechanism.SCRAM_SHA_256 if bits == 256 else ScramMechanism.SCRAM_SHA_512
    admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, mechanism)])[user].result(30)
    for node_id in others:
        until(lambda at=node_id: not let_in(guarded, user, "another-s3cret", at, bits), f"{user}'s end")
    with pytest.raises(KafkaException, match="RESOURCE_NOT_FOUND"):
        admin.describe_user_scram_credentials([user])[user].result(30)


def command_config(folder: Path, user: str = "admin", password: str = _PASSWORD) -> str:
    """A file that says how to log in, for Kafka's tools and ours."""
    file = folder / f"{user}.properties"
    jaas = f'{_MODULE} username="{user}" password="{password}";'
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={jaas}\n")
    return str(file)


def tools_login(cluster: Guarded, folder: Path) -> list[str]:
    """Options of a console tool: any broker, and how to log in."""
    return ["--bootstrap-server", cluster.bootstrap(), "--command-config", command_config(folder)]


def signalbox(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Our own command line, as its console script runs it."""
    run = [sys.executable, "-c", "from signalbox.cli.main import run; run()", *arguments]
    return subprocess.run(run, capture_output=True, text=True, timeout=60)


@pytest.mark.spec("F2")
def test_our_own_command_line_logs_in_as_kafkas_tools_do(guarded: Guarded, tmp_path: Path) -> None:
    set_user(guarded, "ivan", "ivan-s3cret")
    until(partial(let_in, guarded, "ivan", "ivan-s3cret", 1), "ivan on broker 1")
    at = ("--bootstrap-server", guarded.brokers[1].address("CLIENT"))
    files = [command_config(tmp_path), command_config(tmp_path, "ivan", "ivan-s3cret")]
    as_admin, as_ivan = (partial(signalbox, "--command-config", file) for file in files)
    refused = as_ivan("acl", "list", *at)
    assert refused.returncode == 1
    assert "CLUSTER_AUTHORIZATION_FAILED" in refused.stderr
    cluster = ("--cluster", "--principal", "User:ivan")
    assert as_admin("acl", "create", *cluster, "--operation", "DESCRIBE", *at).returncode == 0
    known_everywhere(guarded, "ivan", 1)
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


@pytest.mark.slow
@pytest.mark.spec("F2", "L7")
def test_kafka_configs_makes_and_removes_users(guarded: Guarded, tmp_path: Path) -> None:
    entity = [*tools_login(guarded, tmp_path), "--entity-type", "users", "--entity-name", "grace"]
    user = [*entity, "--alter"]
    credential = "SCRAM-SHA-512=[iterations=8192,password=grace-s3cret]"
    assert "Completed updating config for user grace" in tool("kafka-configs", *user, "--add-config", credential)
    told = admin_at(guarded).describe_user_scram_credentials(["grace"])["grace"].result(30)
    assert [(info.mechanism, info.iterations) for info in told.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_512, 8192)
    ]
    for node_id in BROKERS:
        until(partial(let_in, guarded, "grace", "grace-s3cret", node_id, 512), f"grace on broker {node_id}")
    shown = "SCRAM credential configs for user-principal 'grace' are SCRAM-SHA-512=iterations=8192"
    assert shown in tool("kafka-configs", *entity, "--describe")
    tool("kafka-configs", *user, "--delete-config", "SCRAM-SHA-512")
    for node_id in BROKERS:
        until(lambda at=node_id: not let_in(guarded, "grace", "grace-s3cret", at, 512), "grace's end")


@pytest.mark.spec("F1", "M3")
def test_the_next_controller_knows_every_acl_and_user(guarded: Guarded) -> None:
    """What was acknowledged before the controller was killed is there, and its successor goes on from it."""
    admin, topic = admin_at(guarded), "kept"
    for number in range(3):
        for created in admin.create_acls([allow("kim", operation, topic) for operation in _STEPS[number]]).values():
            created.result(30)
        set_user(guarded, f"kim-{number}", "kim-s3cret")
        killed = until(lambda: max(controller_id(guarded), 0), "a controller")
        guarded.kill(killed)
        until(lambda dead=killed: controller_id(guarded) not in (-1, dead), "another controller")
        guarded.start_broker(killed)
    kept = {binding.operation for binding in admin.describe_acls(only_for("kim")).result(30)}
    assert kept == {operation for step in _STEPS for operation in step}
    known_everywhere(guarded, "kim", 5)
    told = admin.describe_user_scram_credentials([f"kim-{number}" for number in range(3)])
    assert all(future.result(30).scram_credential_infos for future in told.values())
    [deleted] = admin.delete_acls([only_for("kim")]).values()
    assert len(deleted.result(30)) == 5


@pytest.mark.spec("F14")
def test_the_trail_says_who_changed_whom_and_nothing_secret_is_written_down(guarded: Guarded) -> None:
    set_user(guarded, "heidi", "heidi-s3cret", guarded.follower)
    [created] = admin_at(guarded, guarded.follower).create_acls([allow("heidi", AclOperation.READ, "h")]).values()
    created.result(30)
    consumer = Consumer({**login(guarded), "group.id": "trail", "auto.offset.reset": "earliest"})
    consumer.subscribe([AUDIT_TOPIC])
    events: list[str] = []

    def told() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            events.append((message.value() or b"").decode())
        return len(found()) >= 2

    def found() -> list[str]:
        wanted = ("ALTER_USER_SCRAM_CREDENTIALS", "heidi"), ("CREATE_ACLS", "TOPIC:h User:heidi")
        return [event for event in events for pair in wanted if all(text in event for text in pair)]

    until(told, "both changes in the trail")
    consumer.close()
    assert all('"User:admin"' in event for event in found())
    trail = "".join(events)
    logs = "".join(broker.log_file.read_text(errors="replace") for broker in guarded.brokers.values())
    for secret in ("s3cret", "stored_key", "server_key"):
        assert secret not in trail
        assert secret not in logs
