"""ACLs and SCRAM users in a real ZooKeeper, checked with Apache Kafka 3.9's own tools: they read what Signalbox writes,
and Signalbox applies what they write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
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
    UserScramCredentialUpsertion,
)

from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import QUICK
from tests.system.guarded import let_in, login, signalbox
from tests.system.zookeeper.test_zookeeper_cluster import kafka39, shell
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow, pytest.mark.spec("M2")]

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_PASSWORD = "first-s3cret"


@dataclass
class OnZooKeeper:
    """A running cluster whose CLIENT listener requires SCRAM; the user `admin` is in the login module."""

    cluster: ProcessCluster
    connect: str
    admin: AdminClient

    def acls(self, *arguments: str) -> str:
        """The output of kafka-acls of 3.9, which reads and writes ZooKeeper directly."""
        where = ("--authorizer", "kafka.security.authorizer.AclAuthorizer", "--authorizer-properties")
        return kafka39("kafka.admin.AclCommand", *where, f"zookeeper.connect={self.connect}", *arguments)

    def users(self, user: str, *arguments: str) -> str:
        """The output of kafka-configs of 3.9 about a user; it reads and writes ZooKeeper directly."""
        entity = ("--entity-type", "users", "--entity-name", user)
        return kafka39("kafka.admin.ConfigCommand", "--zookeeper", self.connect, *entity, *arguments)

    def principals(self, topic: str) -> set[str]:
        """Principals that have an ACL on a topic, as Signalbox brokers return them."""
        wanted = AclBindingFilter(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.ANY,
            None,  # type: ignore[arg-type]  # any
            None,  # type: ignore[arg-type]  # any
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        return {binding.principal for binding in self.admin.describe_acls(wanted).result(30)}

    def allow(self, user: str, topic: str, pattern: ResourcePatternType = ResourcePatternType.LITERAL) -> None:
        binding = AclBinding(
            ResourceType.TOPIC, topic, pattern, user, "*", AclOperation.ALTER_CONFIGS, AclPermissionType.ALLOW
        )
        self.admin.create_acls([binding])[binding].result(30)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnZooKeeper]:
    provision.zookeeper()
    jaas = f'{_MODULE} username="admin" password="{_PASSWORD}" user_admin="{_PASSWORD}";'
    with ensemble(tmp_path_factory.mktemp("zookeeper")) as (server,):
        connect = f"{server.address}/guarded"
        overrides = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{connect}",
            "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.client.scram-sha-256.sasl.jaas.config": jaas,
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:ANONYMOUS;User:admin",
        }
        with ProcessCluster(tmp_path_factory.mktemp("cluster"), 3, overrides=overrides) as cluster:
            yield OnZooKeeper(cluster, connect, AdminClient(login(cluster)))


def test_kafkas_own_tool_reads_our_acls(kept: OnZooKeeper) -> None:
    kept.allow("User:ours", "read-by-kafka")
    kept.allow("User:prefix", "read-", ResourcePatternType.PREFIXED)
    listed = kept.acls("--list")
    assert re.search(r"name=read-by-kafka, patternType=LITERAL\)`: \s*\(principal=User:ours, host=\*, oper", listed)
    assert re.search(r"name=read-, patternType=PREFIXED\)`: \s*\(principal=User:prefix, host=\*, operation=", listed)
    assert "operation=ALTER_CONFIGS, permissionType=ALLOW" in listed


def test_kafkas_own_shell_reads_acls_and_users(kept: OnZooKeeper) -> None:
    """ACLs, users and change notifications, under Kafka's names and in its format."""
    kept.allow("User:ours", "shown")
    kept.allow("User:ours", "shown-", ResourcePatternType.PREFIXED)
    upsertion = UserScramCredentialUpsertion(
        "shown user", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"x"
    )
    kept.admin.alter_user_scram_credentials([upsertion])["shown user"].result(30)
    gets = ("/kafka-acl/Topic/shown", "/kafka-acl-extended/prefixed/Topic/shown-", "/config/users/shown%20user")
    roots = ("/kafka-acl-changes", "/kafka-acl-extended-changes", "/config/changes", "/kafka-acl", "/config", "/")
    printed = shell(kept.connect, *(f"get {path}" for path in gets), *(f"ls {path}" for path in roots))
    literal, prefixed, user = [json.loads(line) for line in printed if line.startswith("{")]
    acl = {"principal": "User:ours", "permissionType": "Allow", "operation": "AlterConfigs", "host": "*"}
    assert literal == prefixed == {"version": 1, "acls": [acl]}
    assert set(user["config"]) == {"SCRAM-SHA-256"}
    listed = [set(line.strip("[]").split(", ")) for line in printed if line.startswith("[") and line.endswith("]")]
    changes, extended, configs, types, kinds, top = listed[-len(roots) :]
    for names, prefix in ((changes, "acl_changes_"), (extended, "acl_changes_"), (configs, "config_change_")):
        assert all(re.fullmatch(prefix + r"\d{10}", name) for name in names)
    assert "Topic" in types
    assert {"topics", "clients", "users", "brokers", "ips", "changes"} <= kinds
    kafkas = {"cluster", "controller", "controller_epoch", "brokers", "consumers", "admin", "feature", "kafka-acl",
              "isr_change_notification", "latest_producer_id_block", "log_dir_event_notification"}  # fmt: skip
    assert kafkas <= top


def test_acls_that_kafkas_own_tool_writes_are_applied(kept: OnZooKeeper) -> None:
    kept.allow("User:ours", "shared")
    theirs = ("--allow-principal", "User:theirs", "--operation", "Read", "--topic", "shared")
    kept.acls("--add", *theirs)
    assert kept.principals("shared") == {"User:ours", "User:theirs"}
    # The active controller did not write this: its own next change must neither overwrite it nor fail permanently.
    until(partial(_allowed, kept, "User:again", "shared"), "the next change")
    assert kept.principals("shared") == {"User:ours", "User:theirs", "User:again"}
    prefixed = ("--allow-principal", "User:theirs", "--operation", "All", "--topic", "shar")
    kept.acls("--add", *prefixed, "--resource-pattern-type", "prefixed")
    assert kept.principals("shar") == {"User:theirs"}
    kept.acls("--remove", "--force", *theirs)
    assert kept.principals("shared") == {"User:ours", "User:again"}


def _allowed(kept: OnZooKeeper, user: str, topic: str) -> bool:
    """False if the store rejected the controller's write, so that it starts a new controller epoch."""
    try:
        kept.allow(user, topic)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.NOT_CONTROLLER:
            raise
        return False
    return True


def test_users_of_kafkas_own_tool_log_in_and_ours_are_read_by_it(kept: OnZooKeeper) -> None:
    theirs = "SCRAM-SHA-256=[iterations=8192,password=theirs-s3cret]"
    kept.users("theirs", "--alter", "--add-config", theirs)
    for node_id in kept.cluster.brokers:
        until(partial(let_in, kept.cluster, "theirs", "theirs-s3cret", node_id), f"theirs on broker {node_id}")
    upsertion = UserScramCredentialUpsertion("ours", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"x")
    kept.admin.alter_user_scram_credentials([upsertion])["ours"].result(30)
    described = kept.users("ours", "--describe")
    assert re.search(r"SCRAM-SHA-512=salt=\S+,stored_key=\S+,server_key=\S+,iterations=4096", described)


def test_kafkas_own_tool_reads_the_users_of_storage_format(kept: OnZooKeeper, tmp_path: Path) -> None:
    """In a chroot of its own: while a controller is active the command writes nothing."""
    server, _, _ = kept.connect.partition("/")
    file = tmp_path / "server.properties"
    for chroot, code in (("guarded", 1), ("before", 0), ("before", 0)):
        store = f"signalbox.metadata.store=zookeeper:{server}/{chroot}"
        file.write_text(f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:0\n{store}\n")
        user = "SCRAM-SHA-256=[name=first,password=first-s3cret,iterations=5000]"
        assert signalbox("storage", "format", "--config", str(file), "--add-scram", user).returncode == code
    before = OnZooKeeper(kept.cluster, f"{server}/before", kept.admin)
    assert re.search(r"SCRAM-SHA-256=salt=\S+,iterations=5000", before.users("first", "--describe"))
