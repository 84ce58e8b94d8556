"""Listeners are added, changed and removed on running brokers, under load (beyond Kafka's KIP-226)."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import consecutive_ports
from tests.system.clusters import BROKERS
from tests.system.console_tools import tool
from tests.system.loaded import LoadedCluster, loaded_cluster
from tests.system.provision import command, java_class
from tests.system.wire import Wire
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(180)

_Alter = IncrementalAlterConfigsRequest
BROKER, SET, DELETE = 4, 0, 1
MAP = "listener.security.protocol.map"


def change(
    address: str, node_id: int, changes: Mapping[str, str | None], validate_only: bool = False
) -> tuple[int, str]:
    """Changes a broker's configs (None: delete); (error code, message)."""
    entries = [
        _Alter.AlterableConfig(name=name, value=value, config_operation=SET if value is not None else DELETE)
        for name, value in changes.items()
    ]
    resource = _Alter.AlterConfigsResource(resource_type=BROKER, resource_name=str(node_id), configs=entries)
    with Wire(address) as wire:
        [result] = wire.ask(
            ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, _Alter(resources=[resource], validate_only=validate_only)
        ).responses
    return result.error_code, result.error_message or ""


def broker_addresses(address: str) -> set[str]:
    """`host:port` of every broker on this listener; empty if there is no response."""
    try:
        with Wire(address) as wire:
            answer = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
            return {f"{broker.host}:{broker.port}" for broker in answer.brokers}
    except OSError:
        return set()


class Guests:
    """The listener GUEST, added to the running brokers of a loaded cluster and removed again."""

    def __init__(self, loaded: LoadedCluster) -> None:
        self.loaded = loaded
        self.first_port = consecutive_ports(2 * len(BROKERS), Random())

    def address(self, node_id: int) -> str:
        return f"127.0.0.1:{self.first_port + node_id - 1}"

    def change(self, node_id: int, changes: Mapping[str, str | None]) -> None:
        done = change(self.loaded.cluster.brokers[node_id].address("CLIENT"), node_id, changes)
        assert done == (0, ""), done

    def add(self, node_id: int) -> None:
        bound = self.loaded.cluster.brokers[node_id].ready["bound"]
        listeners = [*(f"{name}://{address}" for name, address in bound.items()), f"GUEST://{self.address(node_id)}"]
        protocols = ",".join(f"{name}:PLAINTEXT" for name in (*bound, "GUEST"))
        self.change(node_id, {"listeners": ",".join(listeners), MAP: protocols})

    def remove(self, node_id: int) -> None:
        self.change(node_id, {"listeners": None, MAP: None})


def writes(bootstrap: str) -> bool:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 2})
    errors: list[object] = []
    for partition in range(3):
        producer.produce("guests", b"hello", partition=partition, on_delivery=lambda error, _: errors.append(error))
    return producer.flush(20) == 0 and errors == [None] * 3


@pytest.mark.slow
@pytest.mark.spec("L10", "L12")
def test_a_listener_comes_moves_and_goes_under_load(tmp_path: Path) -> None:
    with loaded_cluster(tmp_path / "cluster") as loaded:
        guests = Guests(loaded)
        with loaded.load():
            for node_id in BROKERS:
                guests.add(node_id)
            all_addresses = {guests.address(node_id) for node_id in BROKERS}
            for address in all_addresses:
                until(
                    partial(lambda asked: broker_addresses(asked) == all_addresses, address),
                    "all brokers on the new listener",
                )
            _make_topic(loaded, "guests")
            assert writes(",".join(sorted(all_addresses)))
            # Another advertised address: the name of the host instead of its IP address; the socket stays.
            _advertise(guests, 1, f"localhost:{guests.first_port}")
            moved = all_addresses - {guests.address(1)} | {f"localhost:{guests.first_port}"}
            until(lambda: broker_addresses(guests.address(2)) == moved, "the other address")
            # The changed configs are still there after a restart.
            assert loaded.cluster.stop_broker(1) == 0
            loaded.cluster.start_broker(1)
            loaded.wait_until_healthy()
            until(lambda: broker_addresses(guests.address(1)) == moved, "the listener after a restart")
            loaded.wait_for_more(200)
            for node_id in BROKERS:
                guests.change(node_id, {"advertised.listeners": None} if node_id == 1 else {})
                guests.remove(node_id)
            for address in all_addresses:
                until(
                    partial(lambda asked: not broker_addresses(asked), address),
                    "no broker on the listener that was removed",
                )
        assert loaded.longest_silence_s() < 3
        loaded.check_records(foreseen="Listeners are not identical across brokers")


def _advertise(guests: Guests, node_id: int, address: str) -> None:
    bound = guests.loaded.cluster.brokers[node_id].ready["bound"]
    entries = [*(f"{name}://{found}" for name, found in bound.items()), f"GUEST://{address}"]
    guests.change(node_id, {"advertised.listeners": ",".join(entries)})


def _make_topic(loaded: LoadedCluster, name: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": loaded.cluster.bootstrap(), "log_level": 2})
    admin.create_topics([NewTopic(name, 3, replication_factor=3)], operation_timeout=20)[name].result(30)
    loaded.wait_until_healthy()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2, overrides={"signalbox.audit.enable": "false"}) as running:
        yield running


def properties(cluster: Cluster, node_id: int, *more: str, without: str = "") -> dict[str, str]:
    """The listener keys of server.properties for a broker: its listeners except `without`, and the entries `more`."""
    bound = cluster.nodes[node_id].describe()["bound"]
    entries = [f"{name}://{address}" for name, address in bound.items() if name != without]
    names = [*bound, *(entry.partition("://")[0] for entry in more)]
    return {"listeners": ",".join([*entries, *more]), MAP: ",".join(f"{name}:PLAINTEXT" for name in names)}


def test_what_peers_or_the_broker_could_not_follow_is_rejected(cluster: Cluster) -> None:
    first, second = (str(cluster.nodes[node_id].describe()["listeners"]["CLIENT"]) for node_id in (1, 2))
    before = cluster.nodes[1].describe()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for changes, reason in (
            (properties(cluster, 1, without="REPLICATION"), "the inter-broker listener REPLICATION is not advertised"),
            (properties(cluster, 1, without="CONTROL"), "the listener CONTROL is not in listeners"),
            (properties(cluster, 1, f"GUEST://127.0.0.1:{port}"), "the listener GUEST cannot be bound"),
            (properties(cluster, 1, "GUEST//nonsense"), "is not a listener entry"),
            (properties(cluster, 1, "CLIENT://127.0.0.1:0"), "the name CLIENT is already taken"),
            ({"listeners": properties(cluster, 1)["listeners"] + ",GUEST://127.0.0.1:0"}, "no security protocol"),
            (
                {**properties(cluster, 1), MAP: "CLIENT:SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"},
                "serves PLAINTEXT and",
            ),
            ({"listeners": properties(cluster, 1)["listeners"].replace(first, "127.0.0.1:1")}, "cannot be bound again"),
            (
                {
                    **properties(cluster, 1, "GUEST://127.0.0.1:0"),
                    "advertised.listeners": properties(cluster, 1)["listeners"] + f",GUEST://{second}",
                },
                f"{second} is an address of broker 2",
            ),
        ):
            error, message = change(first, 1, changes)
            assert error == Error.INVALID_REQUEST, (changes, message)
            assert reason in message, message
    assert cluster.nodes[1].describe() == before
    error, message = change(first, 2, properties(cluster, 2, "GUEST://127.0.0.1:0"))
    assert (error, "Unexpected broker id" in message) == (Error.INVALID_REQUEST, True)


def test_a_name_that_a_peer_maps_otherwise_is_rejected(cluster: Cluster) -> None:
    addresses = {node_id: str(cluster.nodes[node_id].describe()["listeners"]["CLIENT"]) for node_id in (1, 2)}
    assert change(addresses[2], 2, properties(cluster, 2, "MIXED://127.0.0.1:0")) == (0, "")
    until(lambda: "MIXED" in cluster.nodes[2].describe()["listeners"], "the listener of broker 2")
    mixed = properties(cluster, 1, "MIXED://127.0.0.1:0")
    mixed[MAP] = mixed[MAP].replace("MIXED:PLAINTEXT", "MIXED:SASL_PLAINTEXT")
    users = {
        "listener.name.mixed.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.mixed.plain.sasl.jaas.config": (
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="b";'
        ),
    }

    def validated() -> str:
        return change(addresses[1], 1, {**mixed, **users}, validate_only=True)[1]

    reason = "broker 2 maps the listener MIXED to PLAINTEXT"
    until(lambda: reason in validated(), "the controller and broker 1 have the registration of broker 2")
    error, message = change(addresses[1], 1, {**mixed, **users})
    assert error == Error.INVALID_REQUEST
    assert reason in message
    assert change(addresses[2], 2, {"listeners": None, MAP: None}) == (0, "")
    until(lambda: "MIXED" not in cluster.nodes[2].describe()["listeners"], "the listener is gone")


def test_connections_of_a_removed_listener_end_and_others_stay(cluster: Cluster) -> None:
    address = str(cluster.nodes[1].describe()["listeners"]["CLIENT"])
    assert change(address, 1, properties(cluster, 1, "SHORT://127.0.0.1:0")) == (0, "")
    until(lambda: "SHORT" in cluster.nodes[1].describe()["listeners"], "the listener")
    short = str(cluster.nodes[1].describe()["listeners"]["SHORT"])
    epoch = cluster.nodes[1].components.epochs.broker_epoch
    with Wire(address) as stays, Wire(short) as goes:
        for wire in (stays, goes):
            assert wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers is not None
        with Wire(address) as asking:
            resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=BROKER, resource_name="1")
            answer = asking.ask(ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(resources=[resource]))
            shown = {config.name: (config.config_source, config.read_only) for config in answer.results[0].configs}
            assert shown["listeners"] == (2, False), "DYNAMIC_BROKER_CONFIG"
        assert change(address, 1, {"listeners": None, MAP: None}) == (0, "")
        assert goes.closed()
        assert stays.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers
    assert cluster.nodes[1].components.epochs.broker_epoch == epoch, "the session and its epoch stay"


def test_kafkas_own_tool_adds_and_removes_a_listener(cluster: Cluster) -> None:
    """The command of docs/listeners.md: a list in brackets and the keys of the new listener together."""
    before = cluster.nodes[2].describe()["listeners"]
    new = properties(cluster, 2, "TOOLED://127.0.0.1:0")
    changes = f"listeners=[{new['listeners']}],{MAP}=[{new[MAP]}],listener.name.tooled.max.connections=7"
    address = str(before["CLIENT"])
    entity = ("--bootstrap-server", address, "--entity-type", "brokers", "--entity-name", "2")
    assert "Completed updating" in tool("kafka-configs", *entity, "--alter", "--add-config", changes)
    until(lambda: "TOOLED" in cluster.nodes[2].describe()["listeners"], "the listener")
    until(
        lambda: broker_addresses(str(cluster.nodes[2].describe()["listeners"]["TOOLED"])), "the metadata knows it too"
    )
    described = tool("kafka-configs", *entity, "--describe")
    assert f"listeners={new['listeners']} sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:listeners" in described
    assert "listener.name.tooled.max.connections=7 sensitive=false" in described
    names = f"listeners,{MAP},listener.name.tooled.max.connections"
    tool("kafka-configs", *entity, "--alter", "--delete-config", names)
    until(lambda: cluster.nodes[2].describe()["listeners"] == before, "the listeners as before")
