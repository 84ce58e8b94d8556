"""L7: PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL with unmodified clients; L10: each client gets only the addresses of
its own listener.

The brokers use SASL_SSL with SCRAM between each other, and TLS on the control plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaProducer

from signalbox.testing.cluster import Cluster
from tests.security.certificates import Authority

_USERS = 'username="broker" password="broker-secret" user_broker="broker-secret" user_alice="alice-secret";'
_PLAIN = f"org.apache.kafka.common.security.plain.PlainLoginModule required {_USERS}"
_SCRAM = f"org.apache.kafka.common.security.scram.ScramLoginModule required {_USERS}"
_RECORDS = 500
_PROTOCOLS = {
    "OPEN": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "PASSWORD": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "REPLICATION": "SASL_SSL",
    "CONTROL": "SSL",
}


class Secured:
    """A cluster and the settings of its clients."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder

    def servers(self, listener: str) -> list[str]:
        return [str(node.describe()["listeners"][listener]) for node in self.cluster.nodes.values()]

    def settings(self, listener: str, mechanism: str = "PLAIN") -> dict[str, Any]:
        protocol = _PROTOCOLS[listener]
        settings: dict[str, Any] = {
            "bootstrap.servers": ",".join(self.servers(listener)),
            "security.protocol": protocol,
            "log_level": 0,
        }
        if protocol.endswith("SSL"):
            settings["ssl.ca.location"] = str(self.folder / "ca.pem")
        if listener == "MUTUAL":
            settings["ssl.key.location"] = str(self.folder / "user-key.pem")
            settings["ssl.certificate.location"] = str(self.folder / "user.pem")
        if protocol.startswith("SASL"):
            settings |= {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": "alice-secret"}
        return settings


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("four-protocols")
    authority = Authority()
    broker, user = authority.identity("broker"), authority.identity("user")
    (folder / "ca.pem").write_text(authority.pem)
    (folder / "user.pem").write_text(user.certificate_pem)
    (folder / "user-key.pem").write_text(user.key_pem())
    overrides = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in _PROTOCOLS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in _PROTOCOLS.items()),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": broker.pkcs12_file(folder / "broker.p12", "store-secret"),
        "ssl.keystore.password": "store-secret",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    }
    for listener in ("password", "both", "replication"):
        overrides[f"listener.name.{listener}.plain.sasl.jaas.config"] = _PLAIN
        overrides[f"listener.name.{listener}.scram-sha-256.sasl.jaas.config"] = _SCRAM
        overrides[f"listener.name.{listener}.scram-sha-512.sasl.jaas.config"] = _SCRAM
    with Cluster(3, overrides=overrides) as cluster:
        yield Secured(cluster, folder)


@pytest.mark.parametrize(
    ("listener", "mechanism"),
    [
        ("OPEN", ""),
        ("TLS", ""),
        ("MUTUAL", ""),
        ("PASSWORD", "PLAIN"),
        ("PASSWORD", "SCRAM-SHA-256"),
        ("BOTH", "PLAIN"),
        ("BOTH", "SCRAM-SHA-512"),
    ],
)
def test_records_go_in_and_come_out(secured: Secured, listener: str, mechanism: str) -> None:
    settings = secured.settings(listener, mechanism)
    topic = f"{listener}-{mechanism}".lower().rstrip("-")
    admin = AdminClient(settings)
    for created in admin.create_topics([NewTopic(topic, 3, 3)]).values():
        created.result(20)
    metadata = admin.list_topics(timeout=20)
    assert sorted(f"{node.host}:{node.port}" for node in metadata.brokers.values()) == sorted(secured.servers(listener))
    producer = Producer({**settings, "enable.idempotence": True})
    for number in range(_RECORDS):
        producer.produce(topic, str(number).encode() + bytes(1000))
    assert producer.flush(30) == 0
    consumer = Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    read: list[int] = []
    while len(read) < _RECORDS:
        messages = consumer.consume(_RECORDS, 10)
        assert messages
        read += [int((message.value() or b"")[:-1000]) for message in messages if message.error() is None]
    consumer.close()
    assert sorted(read) == list(range(_RECORDS))


def test_kafka_python_over_tls_with_a_password(secured: Secured) -> None:
    producer = KafkaProducer(
        bootstrap_servers=secured.servers("BOTH"),
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username="alice",
        sasl_plain_password="alice-secret",
        ssl_cafile=str(secured.folder / "ca.pem"),
    )
    assert producer.send("kafka-python", b"hello").get(20).topic == "kafka-python"
    producer.close()


@pytest.mark.parametrize(
    ("listener", "wrong"),
    [
        ("BOTH", {"sasl.password": "guess"}),
        ("PASSWORD", {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "unknown"}),
        ("MUTUAL", {"ssl.key.location": "", "ssl.certificate.location": ""}),
        ("TLS", {"security.protocol": "PLAINTEXT"}),
        ("OPEN", {"security.protocol": "SSL"}),
    ],
)
def test_wrong_credentials_are_rejected(secured: Secured, listener: str, wrong: dict[str, str]) -> None:
    settings = {key: value for key, value in {**secured.settings(listener), **wrong}.items() if value != ""}
    with pytest.raises(KafkaException):
        AdminClient(settings).list_topics(timeout=2)
    assert AdminClient(secured.settings("OPEN")).list_topics(timeout=20).brokers
