"""server.properties of a test cluster's brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.listener_properties import of_all, of_broker

pytestmark = pytest.mark.spec("R7")

FILES = CertificateFiles(Path("/a.pem"), Path("/b.pem"))


def test_only_the_listener_of_clients_is_secured() -> None:
    properties = of_all(ClusterOptions(security="SASL_SSL", mechanism="PLAIN", users={"a": "x", "b": "y"}), FILES)
    assert properties["listener.security.protocol.map"] == (
        "CLIENT:SASL_SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT,KIT:PLAINTEXT"
    )
    assert properties["listener.name.client.ssl.keystore.location"] == "/b.pem"
    assert properties["listener.name.client.sasl.enabled.mechanisms"] == "PLAIN"
    assert properties["listener.name.client.plain.sasl.jaas.config"] == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_a="x" user_b="y";'
    )


def test_without_security_there_are_no_such_keys() -> None:
    assert [key for key in of_all(ClusterOptions(), None) if key.startswith("listener.name.")] == []


def test_overrides_come_last() -> None:
    assert of_all(ClusterOptions(overrides={"offsets.topic.num.partitions": "9"}), None)[
        "offsets.topic.num.partitions"
    ] == ("9")


def test_clients_alone_are_sent_to_another_address() -> None:
    assert of_broker({"CLIENT": 1, "KIT": 2}, {"CLIENT": ("127.0.0.1", 3)}) == {
        "listeners": "CLIENT://127.0.0.1:1,KIT://127.0.0.1:2",
        "advertised.listeners": "CLIENT://127.0.0.1:3,KIT://127.0.0.1:2",
    }


def test_each_listener_of_clients_has_its_own_security() -> None:
    properties = of_all(ClusterOptions(listeners={"EXTERNAL": "SASL_SSL", "OPEN": "PLAINTEXT"}), FILES)
    assert properties["listener.security.protocol.map"].endswith("KIT:PLAINTEXT,EXTERNAL:SASL_SSL,OPEN:PLAINTEXT")
    secured = {key.split(".")[2] for key in properties if key.startswith("listener.name.")}
    assert secured == {"external"}
    assert properties["listener.name.external.ssl.keystore.location"] == "/b.pem"
