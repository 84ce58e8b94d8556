"""Limits, TLS and SASL of listeners change while brokers run (KIP-226); open connections are not affected."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from signalbox.metadata.effective_config import ConfigSource
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from tests.security.certificates import Authority
from tests.system.wire import Wire, framed, log_in
from tests.waiting import until

_Alter = IncrementalAlterConfigsRequest
BROKER, SET, DELETE = 4, 0, 1
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_ALICE, _BOB = "alice-secret-4711", "bob-secret-4712"
ELSEWHERE = "127.0.0.9"
PROTOCOLS = {"CLIENT": "PLAINTEXT", "TLS": "SSL", "LOGIN": "SASL_PLAINTEXT", "INTER": "PLAINTEXT"}


class Rejected(Exception):
    """(error code, message) of a response."""


class Running:
    """Two brokers, and the files of their TLS listener."""

    def __init__(self, cluster: Cluster, authority: Authority, folder: Path) -> None:
        self.cluster = cluster
        self.authority = authority
        self.folder = folder

    def address(self, listener: str, node_id: int = 1) -> str:
        return str(self.cluster.nodes[node_id].describe()["listeners"][listener])

    def change(self, broker: str, changes: Mapping[str, str | None], via: int = 1, validate_only: bool = False) -> None:
        """Sets (or, for None, deletes) configs of a broker, "" for all; raises Rejected."""
        entries = [
            _Alter.AlterableConfig(name=name, value=value, config_operation=SET if value is not None else DELETE)
            for name, value in changes.items()
        ]
        resource = _Alter.AlterConfigsResource(resource_type=BROKER, resource_name=broker, configs=entries)
        with Wire(self.address("CLIENT", via)) as wire:
            asked = _Alter(resources=[resource], validate_only=validate_only)
            [result] = wire.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, asked).responses
        if result.error_code:
            raise Rejected(result.error_code, result.error_message)
        for node in self.cluster.nodes.values():  # so that the next request finds every broker up to date
            self.cluster.run(node.components.context.repository.catch_up())

    def described(self, broker: str, via: int = 1) -> dict[str, Any]:
        resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=BROKER, resource_name=broker)
        with Wire(self.address("CLIENT", via)) as wire:
            asked = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
            [found] = wire.ask(ApiKey.DESCRIBE_CONFIGS, 4, asked).results
        return {config.name: config for config in found.configs}

    def certificate(self) -> bytes:
        """The certificate that the TLS listener presents to a new connection."""
        return _shake_hands(self).getpeercert(binary_form=True) or b""


def _shake_hands(running: Running) -> ssl.SSLSocket:
    context = ssl.create_default_context(cadata=running.authority.pem)
    host, _, port = running.address("TLS").rpartition(":")
    return context.wrap_socket(socket.create_connection((host, int(port)), 10), server_hostname="localhost")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("dynamic")
    authority = Authority()
    overrides = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in PROTOCOLS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "inter.broker.listener.name": "INTER",
        "control.plane.listener.name": "",
        "control.plane.force.controller.requests.enable": "false",
        "listener.name.tls.ssl.keystore.location": authority.identity("localhost").pem_file(folder / "first.pem"),
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{_PLAIN} user_alice="{_ALICE}";',
        "signalbox.audit.enable": "false",
    }
    with Cluster(2, overrides=overrides) as cluster:
        yield Running(cluster, authority, folder)


def answers(wire: Wire) -> bool:
    """True if the broker responds; Closed if the connection is closed."""
    return bool(wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers)


@pytest.mark.spec("L5")
def test_a_limit_of_all_brokers_applies_to_new_connections_only(running: Running) -> None:
    key = "max.connections.per.ip.overrides"
    with from_elsewhere(running) as early:
        running.change("", {key: f"{ELSEWHERE}:1"})
        until(lambda: not is_answered(running), "the limit")
        running.change("", {key: None})
        until(lambda: is_answered(running), "no limit")
        assert lives(early)
    assert running.described("") == {}


def from_elsewhere(running: Running) -> socket.socket:
    """A connection to broker 2 from an address that no other client has."""
    host, _, port = running.address("CLIENT", 2).rpartition(":")
    return socket.create_connection((host, int(port)), 10, source_address=(ELSEWHERE, 0))


def is_answered(running: Running) -> bool:
    with from_elsewhere(running) as peer:
        return lives(peer)


def lives(peer: socket.socket) -> bool:
    """True if ApiVersions gets a response."""
    try:
        peer.sendall(framed(encode_request_header(ApiKey.API_VERSIONS, 0, 1, "elsewhere")))
        return peer.recv(4) != b""
    except ConnectionError:
        return False


@pytest.mark.spec("L5")
def test_a_listeners_own_limit_and_where_it_is_shown_to_come_from(running: Running) -> None:
    key = "listener.name.login.max.connections"
    with Wire(running.address("LOGIN")) as early:
        assert log_in(early, "alice", _ALICE) == 0
        running.change("1", {key: "1"})
        shown = running.described("1")[key]
        assert (shown.value, shown.config_source) == ("1", ConfigSource.DYNAMIC_BROKER_CONFIG)
        with Wire(running.address("LOGIN")) as waiting:  # stays in the kernel's backlog until the limit allows it
            waiting.send(waiting.request(ApiKey.API_VERSIONS, 0))
            assert answers(early)
            running.change("1", {key: None})
            assert waiting.frame()
        assert answers(early)
    assert key not in running.described("1")


@pytest.mark.spec("L5")
def test_a_listeners_certificate_is_renewed_and_connections_stay(running: Running) -> None:
    first = running.certificate()
    standing = _shake_hands(running)
    second = running.authority.identity("localhost").pem_file(running.folder / "second.pem")
    key = "listener.name.tls.ssl.keystore.location"
    running.change("1", {key: second})
    until(lambda: running.certificate() != first, "the new certificate")
    shown = running.described("1")[key]
    assert (shown.value, shown.config_source) == (second, ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert lives(standing)
    standing.close()
    running.change("1", {key: None})
    until(lambda: running.certificate() == first, "the old certificate")


def test_a_file_that_was_replaced_is_read_when_it_is_named_again(running: Running) -> None:
    key, path = "listener.name.tls.ssl.keystore.location", running.folder / "replaced.pem"
    first = running.certificate()
    running.authority.identity("localhost").pem_file(path)
    running.change("1", {key: str(path)})
    until(lambda: running.certificate() != first, "the file's certificate")
    second = running.certificate()
    running.authority.identity("localhost").pem_file(path)
    assert running.certificate() == second, "files are not watched"
    running.change("1", {key: str(path)})
    until(lambda: running.certificate() not in (first, second), "what stands in the file now")
    running.change("1", {key: None})
    until(lambda: running.certificate() == first, "the old certificate")


@pytest.mark.spec("L6")
def test_another_user_may_log_in_and_no_secret_is_returned(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    key = "listener.name.login.plain.sasl.jaas.config"
    with Wire(running.address("LOGIN")) as early:
        assert log_in(early, "alice", _ALICE) == 0
        running.change("1", {key: f'{_PLAIN} user_bob="{_BOB}";'})

        def bob_is_known() -> bool:
            with Wire(running.address("LOGIN")) as wire:
                return log_in(wire, "bob", _BOB) == 0

        until(bob_is_known, "the new user")
        with Wire(running.address("LOGIN")) as wire:
            assert log_in(wire, "alice", _ALICE) == 58, "SASL_AUTHENTICATION_FAILED"
        assert answers(early)
    shown = running.described("1")[key]
    assert (shown.value, shown.is_sensitive, shown.config_source) == (None, True, ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert [synonym.value for synonym in shown.synonyms] == [None] * len(shown.synonyms)
    running.change("1", {key: None})
    assert _ALICE not in caplog.text
    assert _BOB not in caplog.text


@pytest.mark.parametrize(
    ("broker", "changes", "reason"),
    [
        ("1", {"listener.name.tls.ssl.keystore.location": "/no/such/file.pem"}, "/no/such/file.pem cannot be read"),
        ("1", {"listener.name.login.plain.sasl.jaas.config": f'nonsense "{_BOB}"'}, "listener.name.login.plain"),
        ("1", {"listener.name.login.sasl.enabled.mechanisms": "PLAIN,GSSAPI"}, "GSSAPI"),
        ("1", {"max.connections.per.ip": "0"}, "no client could connect"),
        ("1", {"ssl.keystore.location": "/k"}, "only per-listener using the listener prefix"),
        ("1", {"num.partitions": "3"}, "Cannot update these configs dynamically"),
        ("1", {"max.connections": "many"}, "'many' is not a whole number"),
        ("1", {"listener.name.login.max.connections": "0"}, "no client could connect to that listener"),
        ("", {"listener.name.tls.ssl.keystore.location": "/k"}, "at default cluster level"),
        ("2", {"listener.name.tls.ssl.keystore.location": "/k"}, "Unexpected broker id"),
    ],
)
def test_an_invalid_config_is_rejected_with_the_reason(
    running: Running, broker: str, changes: Mapping[str, str], reason: str
) -> None:
    before = {key: entry.value for key, entry in running.described("1").items()}
    with pytest.raises(Rejected) as rejected:
        running.change(broker, changes)
    error, message = rejected.value.args
    assert error in (Error.INVALID_REQUEST, Error.INVALID_CONFIG)
    assert reason in message
    assert _BOB not in message
    assert {key: entry.value for key, entry in running.described("1").items()} == before


def test_validate_only_changes_nothing(running: Running) -> None:
    running.change("1", {"listener.name.login.max.connections": "7"}, validate_only=True)
    assert "listener.name.login.max.connections" not in running.described("1")


def test_what_was_changed_survives_a_restart(running: Running) -> None:
    second = running.authority.identity("localhost").pem_file(running.folder / "third.pem")
    running.change("2", {"listener.name.tls.ssl.keystore.location": second}, via=2)
    running.change("", {"num.replica.fetchers": "3"})
    node = running.cluster.nodes[2]
    until(lambda: node.components.data.replicas.fetchers.num_fetchers == 3, "other fetchers")
    running.cluster.stop_broker(2)
    running.cluster.start_broker(2)
    assert running.cluster.nodes[2].components.data.replicas.fetchers.num_fetchers == 3
    host, _, port = running.address("TLS", 2).rpartition(":")
    context = ssl.create_default_context(cadata=running.authority.pem)
    peer = context.wrap_socket(socket.create_connection((host, int(port)), 10), server_hostname="localhost")
    shown = ssl.DER_cert_to_PEM_cert(peer.getpeercert(binary_form=True) or b"")
    assert shown.strip() in Path(second).read_text()
    peer.close()
    producer = Producer({"bootstrap.servers": running.address("CLIENT", 2), "acks": "all"})
    producer.produce("after-the-restart", b"x")
    assert producer.flush(20) == 0
