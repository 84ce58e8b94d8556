"""One access, in the words of each library."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from signalbox.testing.kafka_cluster.certificate_files import write_certificates
from signalbox.testing.kafka_cluster.client_config import ClientConfig

pytestmark = pytest.mark.spec("R7")

PLAIN = ClientConfig(bootstrap_servers="h:1,h:2")


def secured(authority: Path) -> ClientConfig:
    return ClientConfig(
        bootstrap_servers="h:1", security="SASL_SSL", mechanism="SCRAM-SHA-512", user="alice", password="secret",
        authority=authority,
    )  # fmt: skip


def test_without_security() -> None:
    assert PLAIN.properties() == {"bootstrap.servers": "h:1,h:2", "security.protocol": "PLAINTEXT"}
    assert PLAIN.librdkafka() == {"bootstrap.servers": "h:1,h:2", "security.protocol": "plaintext"}
    assert PLAIN.kafka_python() == {"bootstrap_servers": "h:1,h:2", "security_protocol": "PLAINTEXT"}
    assert PLAIN.aiokafka() == PLAIN.kafka_python()


def test_with_tls_and_a_user(tmp_path: Path) -> None:
    authority = write_certificates(tmp_path).authority
    config = secured(authority)
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";'
    assert config.properties() == {
        "bootstrap.servers": "h:1", "security.protocol": "SASL_SSL", "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority), "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login,
    }  # fmt: skip
    assert config.librdkafka() == {
        "bootstrap.servers": "h:1", "security.protocol": "sasl_ssl", "ssl.ca.location": str(authority),
        "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": "secret",
    }  # fmt: skip
    python = {
        "bootstrap_servers": "h:1", "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512", "sasl_plain_username": "alice", "sasl_plain_password": "secret",
    }  # fmt: skip
    assert config.kafka_python() == {**python, "ssl_cafile": str(authority)}
    asynchronous = config.aiokafka()
    assert isinstance(asynchronous.pop("ssl_context"), ssl.SSLContext)
    assert asynchronous == python


def test_settings_of_our_client_with_more_keys() -> None:
    settings = PLAIN.settings(client_id="mine", request_timeout_ms="7")
    assert (settings.client_id, settings.request_timeout_ms, len(settings.bootstrap)) == ("mine", 7, 2)
