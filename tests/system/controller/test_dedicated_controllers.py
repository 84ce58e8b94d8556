"""Dedicated controllers in processes of their own (F15): brokers find them, they reject clients, and another one takes
over when one fails."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic
from tools.chaos.state_reader import state_in_file, state_in_zookeeper

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.clock import SystemClock
from signalbox.controller.entities.feature_control import UpgradeType
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import BROKER_IDS, CONTROLLER, CONTROLLER_IDS, controller_id_path
from signalbox.metadata.store.port import Create
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.security.certificates import Authority
from tests.system import provision
from tests.system.clusters import QUICK, admin_without, controller_id, metric
from tests.system.console_tools import tool
from tests.system.provision import command, jars
from tests.system.wire import Wire, dial, log_in
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(jars, "tools"))
pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F15")]

_ADMITTED = {
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.ENVELOPE,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONTROLLED_SHUTDOWN,
}
_NAMED: Mapping[str, Any] = {"client_software_name": "wire", "client_software_version": "1"}
_SIGNALBOX = Path(sys.executable).with_name("signalbox")
_PLAIN_LISTENERS = "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"
_COMBINED = {
    "process.roles": "broker,controller",
    "controller.listener.names": "controller",
    "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("CLIENT", "REPLICATION", "CONTROL", "CONTROLLER")),
    "listener.security.protocol.map": f"{_PLAIN_LISTENERS},CONTROLLER:PLAINTEXT",
}


@pytest.fixture(scope="module")
def dedicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """Three brokers and three controllers; every test leaves all of them running."""
    with ProcessCluster(tmp_path_factory.mktemp("dedicated"), 3, overrides=QUICK, controllers=3) as running:
        yield running


def admin_of(cluster: ProcessCluster, **settings: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2, **settings})


def create(admin: AdminClient, topic: str, replicas: int = 2, partitions: int = 3) -> None:
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(60)


def has_partitions(admin: AdminClient, topic: str, count: int) -> bool:
    return len(admin.list_topics(topic, timeout=30).topics[topic].partitions) == count


def active(cluster: ProcessCluster) -> int:
    return until(lambda: max(controller_id(cluster), 0), "an active controller")


def round_trip(cluster: ProcessCluster, topic: str, count: int = 50, idempotent: bool = True) -> None:
    """Produces with acks=all and reads the records with a group."""
    known = {"bootstrap.servers": cluster.bootstrap(), "log_level": 0}
    producer = Producer({**known, "acks": "all", "enable.idempotence": idempotent})
    for number in range(count):
        producer.produce(topic, str(number).encode())
    assert producer.flush(60) == 0
    consumer = Consumer({**known, "group.id": f"of-{topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: set[int] = set()

    def read() -> bool:
        found.update(int(message.value() or b"") for message in consumer.consume(500, 0.5) if not message.error())
        return found == set(range(count))

    until(read, f"all records of {topic}")
    consumer.close()


def audited(cluster: ProcessCluster, **wanted: object) -> dict[str, Any]:
    """The first event of the audit trail with these fields."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "auditor"})
    partitions = until(
        lambda: consumer.list_topics(AUDIT_TOPIC, timeout=10).topics[AUDIT_TOPIC].partitions, "the audit topic is made"
    )
    consumer.assign([TopicPartition(AUDIT_TOPIC, partition, 0) for partition in partitions])

    def found() -> dict[str, Any] | None:
        for message in consumer.consume(500, 0.5):
            event: dict[str, Any] = json.loads(message.value() or b"{}")
            if wanted.items() <= event.items():
                return event
        return None

    event = until(found, f"an event with {wanted}")
    consumer.close()
    assert event is not None
    return event


@pytest.mark.spec("F2")
def test_a_level_waits_for_every_controller_that_lives(dedicated: ProcessCluster) -> None:
    """A controller of an older release, whose registration names no features, is registered beside them for a while."""
    older = BrokerRegistration(broker_id=109, endpoints=(), privileged_listener="CONTROLLER")

    def finalized(level: int, kind: UpgradeType) -> tuple[Error, str | None]:
        update = UpdateFeaturesRequest.FeatureUpdateKey(
            feature="signalbox.version", max_version_level=level, upgrade_type=kind
        )
        with dial(dedicated, 2) as wire:
            answer = wire.ask(ApiKey.UPDATE_FEATURES, 1, UpdateFeaturesRequest(feature_updates=[update]))
        return Error.of(answer.error_code), answer.error_message

    async def beside_an_older_one() -> None:
        store = SqliteMetadataStore(dedicated.folder / "metadata.db", 6_000, SystemClock())
        await store.open_session()
        await store.commit([Create(controller_id_path(109), older.encode(), of_session=True)])
        # The controller observes the registration a moment later; before that it may finalize the level, after it must
        # not.
        rejected = (
            Error.INVALID_UPDATE_VERSION,
            "The update failed for all features since the following feature had an error: Invalid update version 1 for"
            " feature signalbox.version. Controller 109 does not support this feature.",
        )
        while (answer := await asyncio.to_thread(finalized, 1, UpgradeType.UPGRADE)) != rejected:
            assert answer[0] is Error.NONE
            await asyncio.to_thread(finalized, 0, UpgradeType.SAFE_DOWNGRADE)
        await store.close()

    asyncio.run(beside_an_older_one())
    until(lambda: finalized(1, UpgradeType.UPGRADE)[0] is Error.NONE, "level 1 without the older one")
    assert finalized(0, UpgradeType.SAFE_DOWNGRADE)[0] is Error.NONE


def test_admin_changes_go_through_any_broker(dedicated: ProcessCluster) -> None:
    for node_id, broker in dedicated.brokers.items():
        admin = admin_of(dedicated, **{"bootstrap.servers": broker.address("CLIENT")})
        topic = f"through-{node_id}"
        create(admin, topic)
        admin.create_partitions([NewPartitions(topic, 6)])[topic].result(60)
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entry = ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)
        resource.add_incremental_config(entry)
        admin.incremental_alter_configs([resource])[resource].result(60)
        until(partial(has_partitions, admin, topic, 6), "the new partitions")
        round_trip(dedicated, topic)
    admin = admin_of(dedicated)
    admin.delete_topics(["through-1"])["through-1"].result(60)
    until(lambda: "through-1" not in admin.list_topics(timeout=30).topics, "the topic's end")


def test_clients_never_see_a_controller(dedicated: ProcessCluster) -> None:
    found = admin_of(dedicated).list_topics(timeout=30)
    assert set(found.brokers) == {1, 2, 3}
    assert found.controller_id in (1, 2, 3)
    ports = {broker.port for broker in found.brokers.values()}
    assert not ports & {int(each.address("CONTROLLER").rpartition(":")[2]) for each in dedicated.controllers.values()}
    with dial(dedicated) as wire:
        for version in (1, 2):
            answer = wire.ask(ApiKey.DESCRIBE_CLUSTER, version, DescribeClusterRequest())
            assert [row.broker_id for row in answer.brokers] == [1, 2, 3]
            for kind, error in ((2, Error.MISMATCHED_ENDPOINT_TYPE), (3, Error.UNSUPPORTED_ENDPOINT_TYPE)):
                asked = DescribeClusterRequest(endpoint_type=kind)
                assert wire.ask(ApiKey.DESCRIBE_CLUSTER, version, asked).error_code == error


def test_a_controller_accepts_only_requests_of_brokers(dedicated: ProcessCluster) -> None:
    rejections = "signalbox_network_socketserver_rejections_total"
    for node_id in (active(dedicated), next(each for each in dedicated.controllers if each != active(dedicated))):
        before = metric(dedicated, node_id, rejections, kind="controller_listener")
        not_admitted = [row for row in API_TABLE.values() if row.key not in _ADMITTED]
        assert len(not_admitted) > 40
        for row in not_admitted:
            with dial(dedicated, node_id, "CONTROLLER") as wire:
                wire.send(wire.request(row.key, row.max_version, row.request().encode(row.max_version)))
                assert wire.closed(), row.name
        assert metric(dedicated, node_id, rejections, kind="controller_listener") == before + len(not_admitted)


def test_a_client_that_dials_a_controller_gets_nothing_and_is_seen(dedicated: ProcessCluster) -> None:
    node_id = active(dedicated)
    address = dedicated.controllers[node_id].address("CONTROLLER")
    lost = AdminClient({"bootstrap.servers": address, "log_level": 0})
    with pytest.raises(KafkaException):
        lost.list_topics(timeout=3)
    with dial(dedicated, node_id, "CONTROLLER") as wire:
        wire.send(wire.request(ApiKey.METADATA, 12, MetadataRequest(topics=None).encode(12), client_id="lost"))
        assert wire.closed()
    log = dedicated.controllers[node_id].log_file
    line = r"Connection rejected \(listener=CONTROLLER, .*a controller accepts only requests of brokers"
    until(lambda: re.search(line, log.read_text()), "a line in the controller's log")
    event = audited(dedicated, client_id="lost", kind="rejected")
    assert (event["listener"], event["plane"], event["broker_id"]) == ("CONTROLLER", "controller", node_id)


@pytest.mark.spec("F14")
def test_a_controllers_audit_events_name_the_client(dedicated: ProcessCluster) -> None:
    leader = active(dedicated)
    create(admin_of(dedicated, **{"client.id": "creator"}), "created-through-a-broker")
    event = audited(dedicated, client_id="creator", api="CREATE_TOPICS", kind="admin")
    assert (event["broker_id"], event["plane"], event["listener"]) == (leader, "controller", "CONTROLLER")
    assert (event["client_address"], event["resource"]) == ("127.0.0.1", "created-through-a-broker")


@pytest.mark.spec("R2", "F9")
def test_a_controller_checks_the_node_id_and_lists_its_apis(dedicated: ProcessCluster) -> None:
    node_id = next(iter(dedicated.controllers))
    cluster_id = str(dedicated.controllers[node_id].ready["cluster_id"])
    forwardable = {row.key for row in API_TABLE.values() if row.forwardable}
    with dial(dedicated, node_id, "CONTROLLER") as wire:
        for claimed, error in ((node_id, Error.NONE), (1, Error.REBOOTSTRAP_REQUIRED)):
            asked = ApiVersionsRequest(cluster_id=cluster_id, node_id=claimed, **_NAMED)
            answer = wire.ask(ApiKey.API_VERSIONS, 5, asked)
            assert answer.error_code == error
            if error is Error.NONE:
                assert {row.api_key for row in answer.api_keys} - _ADMITTED <= forwardable


@pytest.mark.spec("M3")
def test_a_killed_controller_is_followed_by_another(dedicated: ProcessCluster) -> None:
    victim = active(dedicated)
    admin = admin_of(dedicated)
    create(admin, "before-the-kill")
    dedicated.kill(victim)
    create(admin, "after-the-kill")
    assert active(dedicated) not in (victim, 1, 2, 3)
    round_trip(dedicated, "before-the-kill")
    dedicated.start_broker(victim)
    assert controller_id(dedicated) != victim


@pytest.mark.slow
@pytest.mark.spec("M3")
def test_a_paused_controller_is_fenced_when_it_resumes(dedicated: ProcessCluster) -> None:
    sleeper = active(dedicated)
    dedicated.pause(sleeper)
    admin = admin_of(dedicated)
    create(admin, "while-it-slept")
    dedicated.resume(sleeper)
    log = dedicated.controllers[sleeper].log_file
    until(lambda: f"Node {sleeper} resigned as the controller" in log.read_text(), "the end of its term")
    create(admin, "after-it-woke")
    assert active(dedicated) not in (sleeper, 1, 2, 3)
    round_trip(dedicated, "while-it-slept")


def test_brokers_go_and_come_back_while_the_controllers_stay(dedicated: ProcessCluster) -> None:
    leader = active(dedicated)
    admin = admin_of(dedicated)
    create(admin, "outlives-a-broker", replicas=3)
    assert dedicated.stop_broker(2) == 0
    assert (
        "leadership has moved away" in dedicated.brokers[2].log_file.read_text()
    )  # the request went to the controllers' listener
    round_trip(dedicated, "outlives-a-broker")
    dedicated.kill(3)

    def led_elsewhere() -> bool:
        partitions = admin.list_topics("outlives-a-broker", timeout=30).topics["outlives-a-broker"].partitions
        return {each.leader for each in partitions.values()} == {1}

    until(led_elsewhere, "leadership on the one that is left")
    for node_id in (2, 3):
        dedicated.start_broker(node_id)

    def in_sync() -> bool:
        partitions = admin.list_topics("outlives-a-broker", timeout=30).topics["outlives-a-broker"].partitions
        return all(sorted(each.isrs) == [1, 2, 3] for each in partitions.values())

    until(in_sync, "all replicas in sync again")
    assert controller_id(dedicated) == leader


def test_all_controllers_restart_while_the_brokers_serve(dedicated: ProcessCluster) -> None:
    admin = admin_of(dedicated)
    create(admin, "without-controllers", replicas=3)
    round_trip(dedicated, "without-controllers")  # creates __consumer_offsets, which needs a controller
    for node_id in dedicated.controllers:
        assert dedicated.stop_broker(node_id) == 0
    assert controller_id(dedicated) == -1  # no broker becomes the controller
    round_trip(dedicated, "without-controllers", idempotent=False)  # new producer ids come from the controller
    for node_id in dedicated.controllers:
        dedicated.start_broker(node_id)
    create(admin, "with-controllers-again")
    assert active(dedicated) in dedicated.controllers


@pytest.mark.slow
def test_kafkas_tools_see_brokers(dedicated: ProcessCluster) -> None:
    at = ["--bootstrap-server", dedicated.bootstrap()]
    new = ["--create", "--topic", "by-tool", "--partitions", "2", "--replication-factor", "3"]
    assert "Created topic" in tool("kafka-topics", *at, *new)
    described = until(lambda: tool("kafka-topics", *at, "--describe", "--topic", "by-tool"), "the topic")
    assert len(re.findall(r"Partition: \d\s+Leader: [123]\s+Replicas: [123,]{5}\s+Isr: [123,]{5}", described)) == 2
    listed = tool("kafka-cluster", "list-endpoints", *at)
    assert {line.split()[0] for line in listed.splitlines() if line[:1].isdigit()} == {"1", "2", "3"}


def test_what_stands_in_the_store(dedicated: ProcessCluster) -> None:
    """Kafka's tools find the brokers where they look for them, and the controllers' addresses nowhere."""
    with state_in_file(dedicated.folder / "metadata.db") as state:
        assert set(state.names(BROKER_IDS)) == {"1", "2", "3"}
        assert set(state.names(CONTROLLER_IDS)) == set(map(str, dedicated.controllers))
        claim = state.entry(CONTROLLER)
        assert claim is not None
        assert json.loads(claim.data or b"{}").keys() == {
            "version",
            "brokerid",
            "timestamp",
            "kraftControllerEpoch",
        }


@pytest.mark.slow
def test_combined_nodes_are_brokers_and_controllers(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 3, overrides={**QUICK, **_COMBINED}) as cluster:
        admin = admin_of(cluster)
        create(admin, "combined", replicas=3)
        round_trip(cluster, "combined")
        assert set(admin.list_topics(timeout=30).brokers) == {1, 2, 3}
        victim = active(cluster)
        with dial(cluster, victim, "CONTROLLER") as wire:
            wire.send(wire.request(ApiKey.METADATA, 12))
            assert wire.closed()
        with dial(cluster, victim, "REPLICATION") as wire:  # only the controllers' listener is privileged
            wire.send(wire.request(ApiKey.ENVELOPE, 0, EnvelopeRequest().encode(0)))
            assert wire.closed()
        cluster.kill(victim)
        create(admin_without(cluster, victim), "combined-again", replicas=2)
        assert active(cluster) != victim
        cluster.start_broker(victim)
        until(lambda: set(admin_of(cluster).list_topics(timeout=30).brokers) == {1, 2, 3}, "three brokers")


@pytest.mark.slow
def test_a_running_cluster_moves_to_dedicated_controllers(tmp_path: Path) -> None:
    """During the move a broker without roles or a new dedicated controller is active; in the end only dedicated
    controllers are."""
    before = {"process.roles": "", "controller.listener.names": ""}
    nodes = dict.fromkeys((1, 2, 3), before)
    with ProcessCluster(tmp_path, 3, overrides=QUICK, per_broker=nodes, controllers=2) as cluster:
        create(admin_of(cluster), "before", replicas=3)
        for node_id in cluster.brokers:
            cluster.configure(node_id, {"process.roles": "broker", "controller.listener.names": "CONTROLLER"})
            assert cluster.stop_broker(node_id) == 0
            create(admin_without(cluster, node_id), f"while-{node_id}-is-away")
            cluster.start_broker(node_id)
        assert active(cluster) in cluster.controllers
        round_trip(cluster, "before")
        create(admin_of(cluster), "after", replicas=3)


@pytest.mark.slow
@pytest.mark.spec("F4", "L5")
def test_a_controller_listener_with_tls_and_passwords_of_its_own(tmp_path: Path) -> None:
    """Brokers log in there by sasl.mechanism.controller.protocol; a user without CLUSTER_ACTION is not accepted as a
    broker."""
    authority = Authority()
    store = authority.identity("node").pem_file(tmp_path / "node.pem")
    trusted = tmp_path / "authority.pem"
    trusted.write_text(authority.pem)
    trusting = ssl.create_default_context(cafile=str(trusted))
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    own = "listener.name.controller"
    overrides = {
        **QUICK,
        "listener.security.protocol.map": f"{_PLAIN_LISTENERS},CONTROLLER:SASL_SSL",
        f"{own}.sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        f"{own}.plain.sasl.jaas.config": f'{module} username="node" password="n" user_node="n" user_mallory="m";',
        f"{own}.ssl.keystore.location": store,
        f"{own}.ssl.truststore.location": str(trusted),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:node;User:ANONYMOUS",
    }
    with ProcessCluster(tmp_path / "cluster", 2, overrides=overrides, controllers=2) as cluster:
        admin = admin_of(cluster)
        create(admin, "guarded")
        round_trip(cluster, "guarded")
        victim = active(cluster)
        with Wire(cluster.controllers[victim].address("CONTROLLER"), tls=trusting) as wire:
            assert log_in(wire, "mallory", "m") == Error.NONE
            forged = EnvelopeRequest(request_data=b"?", request_principal=None, client_host_address=b"\x7f\0\0\1")
            assert wire.ask(ApiKey.ENVELOPE, 0, forged).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
        with Wire(cluster.controllers[victim].address("CONTROLLER"), tls=trusting) as wire:
            assert log_in(wire, "mallory", "wrong") == Error.SASL_AUTHENTICATION_FAILED
        cluster.kill(victim)
        create(admin, "guarded-again")
        assert active(cluster) not in (victim, 1, 2)


@pytest.mark.slow
@pytest.mark.spec("M2")
def test_on_zookeeper(tmp_path: Path) -> None:
    provision.zookeeper()
    with ensemble(tmp_path / "ensemble", servers=1) as servers:
        connect = f"{servers[0].address}/signalbox"
        overrides = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{connect}",
            "zookeeper.session.timeout.ms": "35000",
        }
        with (
            ProcessCluster(tmp_path / "cluster", 2, overrides=overrides, controllers=2) as cluster,
            state_in_zookeeper(connect) as state,
        ):
            admin = admin_of(cluster)
            create(admin, "kept-in-zookeeper")
            round_trip(cluster, "kept-in-zookeeper")
            assert set(state.names(BROKER_IDS)) == {"1", "2"}
            victim = active(cluster)
            assert victim in cluster.controllers
            assert state.controller_id() == victim
            cluster.kill(victim)
            began = time.monotonic()
            create(admin, "after-a-kill")
            assert time.monotonic() - began < 30, "an address that rejects tells more than a session that lasts"
            assert state.controller_id() not in (victim, 1, 2)
            cluster.start_broker(victim)


@pytest.mark.slow
def test_signalbox_up_shows_them(tmp_path: Path) -> None:
    arguments = ["up", "--brokers", "2", "--controllers", "2", "--data", str(tmp_path), "--port", "0"]
    process = subprocess.Popen([_SIGNALBOX, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if line.startswith("bootstrap.servers="):
                break
        servers = re.findall(r"127\.0\.0\.1:\d+", printed[-1])
        assert len(servers) == 2
        described = run("cluster", "describe", "--bootstrap-server", servers[0])
        assert set(re.findall(r"127\.0\.0\.1:\d+", described)) == set(servers)
        [metrics] = re.findall(r"127\.0\.0\.1:\d+", next(line for line in printed if "101" in line))[1:]
        head, *planes = (line.split("\t") for line in run("planes", "--once", metrics).splitlines())
        [shown] = [dict(zip(head, row, strict=True)) for row in planes]
        assert (shown["plane"], shown["listener"], int(shown["rejected"])) == ("controller", "CONTROLLER", 0)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    for folder in ("controller-101", "controller-102", "broker-1", "broker-2"):
        assert (tmp_path / folder / "broker.log").read_text().rstrip().endswith("signalbox: stopped")


def run(*arguments: str) -> str:
    ended = subprocess.run([_SIGNALBOX, *arguments], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
