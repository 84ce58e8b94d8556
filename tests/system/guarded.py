"""A cluster that requires SCRAM on all listeners and enforces ACLs, and requests to it as different users."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from signalbox.client.admin import AdminClient as OwnAdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import AclOperation as OwnAclOperation
from signalbox.security.sasl.scram_messages import salted_password
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import BROKERS, QUICK, controller_id
from tests.waiting import until

_LISTENERS = ("CLIENT", "REPLICATION", "CONTROL")
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
ADMIN_PASSWORD = "first-s3cret"
BROKER_PASSWORD = "brokers-s3cret"


class Guarded(ProcessCluster):
    """Every listener requires SCRAM, and no login module lists users: `admin`, and `broker`, as which the brokers log
    in, were added to the store by `signalbox store format`. `more` are keys that replace those of every
    server.properties."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        overrides = {
            **QUICK,
            "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in _LISTENERS),
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin;User:broker",
        }
        jaas = f'{SCRAM_MODULE} username="broker" password="{BROKER_PASSWORD}";'
        for name in _LISTENERS:
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                overrides[f"listener.name.{name.lower()}.{mechanism}.sasl.jaas.config"] = jaas
        self.store = (more or {}).get("signalbox.metadata.store", f"sqlite:{folder / 'metadata.db'}")
        super().__init__(folder, overrides={**overrides, **(more or {})})
        self.admin: AdminClient | None = None  # a client without a reference is closed with its request in flight

    def start(self) -> None:
        file = self.folder / "before.properties"
        file.write_text(f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\nmetadata.store={self.store}\n")
        users = {"admin": ADMIN_PASSWORD, "broker": BROKER_PASSWORD}
        added = (f"--add-scram=SCRAM-SHA-256=[name={name},password={word}]" for name, word in users.items())
        assert signalbox("store", "format", "--config", str(file), *added).returncode == 0
        super().start()

    @property
    def follower(self) -> int:
        """A broker that is not the controller."""
        controller = until(lambda: max(controller_id(self), 0), "a controller")
        return next(node_id for node_id in BROKERS if node_id != controller)


def login(
    cluster: ProcessCluster,
    user: str = "admin",
    password: str = ADMIN_PASSWORD,
    node_id: int | None = None,
    bits: int = 256,
) -> dict[str, Any]:
    """Client settings; only this broker as bootstrap if `node_id` is set."""
    servers = cluster.bootstrap() if node_id is None else cluster.brokers[node_id].address("CLIENT")
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": f"SCRAM-SHA-{bits}",
        "sasl.username": user,
        "sasl.password": password,
        "log_level": 0,
    }


def admin_of(cluster: Guarded) -> AdminClient:
    """librdkafka's admin client, which sends requests to any broker."""
    if cluster.admin is None:
        cluster.admin = AdminClient(login(cluster))
    return cluster.admin


def set_user(cluster: Guarded, user: str, password: str, node_id: int = 1, bits: int = 256) -> None:
    """Creates a user (or changes the password) through one broker, and waits until every broker accepts the login."""
    salt = b"salt of the tests"
    upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=user,
        mechanism={256: 1, 512: 2}[bits],
        iterations=4096,
        salt=salt,
        salted_password=salted_password(f"SCRAM-SHA-{bits}", password, salt, 4096),
    )
    [made] = ask(cluster, node_id, AlterUserScramCredentialsRequest(upsertions=[upsertion])).results
    assert made.error_code == 0, made.error_message
    for each in BROKERS:
        until(partial(let_in, cluster, user, password, each, bits), f"{user} on broker {each}")


def described(admin: AdminClient, *users: str) -> dict[str, Future[Any]]:
    """The description of each SCRAM user."""
    descriptions = admin.describe_user_scram_credentials(list(users))
    assert isinstance(descriptions, dict)
    return descriptions


def make_topic(cluster: Guarded, name: str) -> str:
    new = NewTopic(name, 1, replication_factor=3)
    admin_of(cluster).create_topics([new], operation_timeout=20)[name].result(30)
    return name


def allow(user: str, operation: AclOperation, topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


def only_for(user: str) -> AclBindingFilter:
    """The ACLs of a user, on any resource."""
    return AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]  # any
        ResourcePatternType.ANY,
        f"User:{user}",
        None,  # type: ignore[arg-type]  # any
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def ask(
    cluster: ProcessCluster, node_id: int, message: Any, user: str = "admin", password: str = ADMIN_PASSWORD
) -> Any:
    """The response of exactly this broker: librdkafka's admin client chooses the broker itself."""
    module = f'{SCRAM_MODULE} username="{user}" password="{password}";'
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": module}
    settings = ClientSettings.from_properties({**properties, "bootstrap.servers": cluster.bootstrap()})

    async def run() -> Any:
        async with OwnAdminClient(ClusterClient(settings)) as admin:
            while node_id not in admin.client.view.nodes:
                await admin.client.some_node(admin.client.deadline(10_000), set())
            return await admin.client.request(node_id, message, timeout_ms=30_000)

    return asyncio.run(run())


def creation(user: str, operation: OwnAclOperation, topic: str) -> CreateAclsRequest:
    """One ACL on a topic, as the wire has it."""
    entry = CreateAclsRequest.AclCreation(
        resource_type=2, resource_name=topic, principal=f"User:{user}", host="*", operation=operation, permission_type=3
    )
    return CreateAclsRequest(creations=[entry])


def allow_at(cluster: Guarded, node_id: int, user: str, operation: OwnAclOperation, topic: str) -> None:
    """Creates an ACL through one broker, and waits until every broker enforces it."""
    [made] = ask(cluster, node_id, creation(user, operation, topic)).results
    assert made.error_code == 0, made.error_message
    known_everywhere(cluster, user, topic, 1)


def forbid_at(cluster: Guarded, node_id: int, user: str, topic: str) -> None:
    """Removes the ACLs of a user on a topic through one broker, and waits until every broker applies it."""
    wanted = DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=2,
        resource_name_filter=topic,
        principal_filter=f"User:{user}",
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    [removed] = ask(cluster, node_id, DeleteAclsRequest(filters=[wanted])).filter_results
    assert len(removed.matching_acls) == 1
    known_everywhere(cluster, user, topic, 0)


def known_everywhere(cluster: Guarded, user: str, topic: str | None, count: int) -> None:
    """DescribeAcls returns the stored ACLs on any broker: a broker that has responded enforces them."""
    asked = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=topic,
        pattern_type_filter=1,
        principal_filter=f"User:{user}",
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    for node_id in BROKERS:
        answer = ask(cluster, node_id, asked)
        assert sum(len(resource.acls) for resource in answer.resources) == count


def let_in(cluster: ProcessCluster, user: str, password: str, node_id: int, bits: int = 256) -> bool:
    """True if a broker accepts the login of a new connection."""
    failed: list[KafkaError] = []
    settings: dict[str, Any] = {**login(cluster, user, password, node_id, bits), "error_cb": failed.append}
    client = AdminClient(settings)
    for _ in range(200):
        try:
            client.list_topics(timeout=0.1)
            return True
        except KafkaException:
            client.poll(0)
        if any(error.code() == KafkaError._AUTHENTICATION for error in failed):
            return False
    raise AssertionError(f"broker {node_id} neither let {user} in nor kept him out")


def command_config(folder: Path, user: str = "admin", password: str = ADMIN_PASSWORD) -> str:
    """A file with login settings, for Kafka's tools and ours."""
    file = folder / f"{user}.properties"
    jaas = f'{SCRAM_MODULE} username="{user}" password="{password}";'
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={jaas}\n")
    return str(file)


def tools_login(cluster: Guarded, folder: Path) -> list[str]:
    """Options of a console tool: any broker, and the login settings."""
    return ["--bootstrap-server", cluster.bootstrap(), "--command-config", command_config(folder)]


def signalbox(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Our own command line, as its console script runs it."""
    run = [sys.executable, "-c", "from signalbox.cli.main import run; run()", *arguments]
    return subprocess.run(run, capture_output=True, text=True, timeout=60)
