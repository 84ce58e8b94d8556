"""Our brokers with each security protocol, by port map and load balancer: no false alarms, and the right findings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from signalbox.doctor.observations import Examination
from signalbox.doctor.prober.examined_listener import ExaminedListener
from signalbox.doctor.prober.examiner import examine
from signalbox.testing.cluster import Cluster
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.doctor.stories.ground import LIMITS, examine_entries, findings_of
from tests.security.certificates import Authority

pytestmark = pytest.mark.spec("R8")

AUTHORITY = Authority()
PASSWORD = "alice-has-a-secret"
MUTUAL = "MUTUAL"  # clients need a certificate
LISTENERS = {"CLIENT": "PLAINTEXT", "TLS": "SSL", "SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL"}
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class SecuredCluster(Cluster):
    """Three brokers with a listener of each security protocol."""

    def __init__(self, folder: Path) -> None:
        keystore = AUTHORITY.identity("broker").pem_file(folder / "broker.pem")
        protocols = {**LISTENERS, MUTUAL: "SSL", "REPLICATION": "PLAINTEXT", "CONTROL": "PLAINTEXT"}
        jaas = f'{_MODULE} user_alice="{PASSWORD}";'
        super().__init__(
            brokers=3,
            overrides={
                "listeners": ",".join(f"{name}://127.0.0.1:0" for name in protocols),
                "listener.security.protocol.map": ",".join(f"{name}:{one}" for name, one in protocols.items()),
                "ssl.keystore.location": keystore,
                "ssl.keystore.type": "PEM",
                "listener.name.mutual.ssl.client.auth": "required",
                "listener.name.mutual.ssl.truststore.certificates": AUTHORITY.pem,
                "listener.name.mutual.ssl.truststore.type": "PEM",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl.plain.sasl.jaas.config": jaas,
                "listener.name.both.plain.sasl.jaas.config": jaas,
            },
        )

    def entry(self, listener: str, node_id: int = 1) -> str:
        """The advertised address of a broker on a listener."""
        return str(self.nodes[node_id].describe()["listeners"][listener])


def properties(protocol: str, folder: Path, password: str = PASSWORD) -> Mapping[str, str]:
    truststore = folder / "authority.pem"
    truststore.write_text(AUTHORITY.pem)
    values = {"security.protocol": protocol}
    if protocol.endswith("SSL"):
        values["ssl.truststore.location"] = str(truststore)
    if protocol.startswith("SASL"):
        values["sasl.mechanism"] = "PLAIN"
        values["sasl.jaas.config"] = f'{_MODULE} username="alice" password="{password}";'
    return values


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with SecuredCluster(tmp_path_factory.mktemp("secured")) as running:
        yield running


def examined(entry: str, values: Mapping[str, str]) -> Examination:
    return examine_entries(entry, configs={0: values})


def codes(entry: str, values: Mapping[str, str]) -> list[str]:
    return sorted({finding.code for finding in findings_of(examined(entry, values))})


@pytest.mark.parametrize("listener", LISTENERS)
def test_no_false_alarm(cluster: SecuredCluster, listener: str, tmp_path: Path) -> None:
    values = properties(LISTENERS[listener], tmp_path)
    examination = examined(cluster.entry(listener), values)
    assert findings_of(examination) == []
    rows = examination.listeners[0].addresses
    assert [row.answering for row in rows] == [(1,), (2,), (3,)]
    assert all(bool(row.certificates) == listener.endswith(("TLS", "BOTH")) for row in rows)


def test_no_false_alarm_with_all_listeners_at_once(cluster: SecuredCluster, tmp_path: Path) -> None:
    """Three brokers with several listeners: within 2 s on a quiet machine."""
    names = list(LISTENERS)
    configs = {index: properties(LISTENERS[name], tmp_path) for index, name in enumerate(names)}
    examination = examine_entries(*map(cluster.entry, names), configs=configs)
    assert findings_of(examination) == []
    assert examination.duration_ms < 30_000


@pytest.mark.parametrize(
    ("listener", "protocol", "expected"),
    [
        ("TLS", "PLAINTEXT", ["TLS_EXPECTED"]),
        ("CLIENT", "SSL", ["TLS_MISSING"]),
        ("SASL", "PLAINTEXT", ["SASL_EXPECTED"]),
        ("BOTH", "SSL", ["SASL_EXPECTED"]),
        ("CLIENT", "SASL_PLAINTEXT", ["SASL_MISSING"]),
        ("TLS", "SASL_SSL", ["SASL_MISSING"]),
    ],
)
def test_a_client_with_another_security_protocol(
    cluster: SecuredCluster, listener: str, protocol: str, expected: list[str], tmp_path: Path
) -> None:
    (finding,) = findings_of(examined(cluster.entry(listener), properties(protocol, tmp_path)))
    assert [finding.code] == expected
    assert (finding.key, finding.value) == ("security.protocol", LISTENERS[listener])


def test_credentials_mechanisms_and_certificates(cluster: SecuredCluster, tmp_path: Path) -> None:
    wrong = properties("SASL_SSL", tmp_path, password="a-wrong-secret")
    assert codes(cluster.entry("BOTH"), wrong) == ["AUTHENTICATION"]
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    scram = {
        **properties("SASL_PLAINTEXT", tmp_path),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{module} required username="a" password="b";',
    }
    (finding,) = findings_of(examined(cluster.entry("SASL"), scram))
    assert (finding.code, finding.key, finding.value) == ("SASL_MECHANISM", "sasl.mechanism", "PLAIN")
    other = tmp_path / "other.pem"
    other.write_text(Authority("another").pem)
    untrusting = {"security.protocol": "SSL", "ssl.truststore.location": str(other)}
    assert codes(cluster.entry("TLS"), untrusting) == ["CERTIFICATE_UNTRUSTED"]


def test_a_listener_that_wants_a_certificate_of_the_client(cluster: SecuredCluster, tmp_path: Path) -> None:
    values = dict(properties("SSL", tmp_path))
    (finding,) = findings_of(examined(cluster.entry(MUTUAL), values))
    assert (finding.code, finding.key) == ("CLIENT_CERTIFICATE", "ssl.keystore.location")
    values["ssl.keystore.location"] = Authority("another").identity("alice").pem_file(tmp_path / "other-alice.pem")
    assert codes(cluster.entry(MUTUAL), values) == ["CLIENT_CERTIFICATE"]
    values["ssl.keystore.location"] = AUTHORITY.identity("alice").pem_file(tmp_path / "alice.pem")
    assert codes(cluster.entry(MUTUAL), values) == []


def test_names_of_the_certificate_behind_a_port_map(cluster: SecuredCluster, tmp_path: Path) -> None:
    host, _, port = cluster.entry("TLS").rpartition(":")
    with SwitchboardThread() as board:
        _, mapped = board.add_line("tls", (host, int(port)))
        by_name = examined(f"localhost:{mapped}", properties("SSL", tmp_path))
        assert findings_of(by_name) == []
        (row,) = (row for row in by_name.listeners[0].seeds if row.port == mapped)
        assert next(iter(row.certificates.values())).names == ("localhost", "127.0.0.1")

        def lookup(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        listener = ExaminedListener.of(f"kafka.example:{mapped}", properties("SSL", tmp_path), LIMITS)
        (finding,) = findings_of(asyncio.run(examine([listener], LIMITS, lookup)))
        assert finding.code == "CERTIFICATE_NAME"
        assert finding.text.endswith("is for localhost, 127.0.0.1, not for kafka.example")


@pytest.mark.parametrize("listener", LISTENERS)
def test_a_load_balancer_before_the_bootstrap_server_is_recognised(
    cluster: SecuredCluster, listener: str, tmp_path: Path
) -> None:
    with SwitchboardThread() as board:
        entry = board.add_line("balancer")
        targets = [cluster.entry(listener, node_id).rpartition(":") for node_id in (1, 2, 3)]
        board.rewire("balancer", *((host, int(port)) for host, _, port in targets))
        found = codes(f"{entry[0]}:{entry[1]}", properties(LISTENERS[listener], tmp_path))
    assert found == ["LOAD_BALANCER"]
