"""The keys of the ZooKeeper store: Kafka 3.9 has them with the same defaults."""

from __future__ import annotations

import pytest

from signalbox.common.config.config_table import ConfigType, Dynamic
from signalbox.metadata.config_rows import METADATA_CONFIG


def test_without_keys_the_values_are_the_defaults_of_kafka() -> None:
    values, faults = METADATA_CONFIG.read({})
    assert faults == []
    assert {key.removeprefix("zookeeper."): value for key, value in values.items() if value is not None} == {
        "session.timeout.ms": 18_000,
        "set.acl": False,
        "ssl.client.enable": False,
        "ssl.protocol": "TLSv1.2",
        "ssl.enabled.protocols": [],
        "ssl.cipher.suites": [],
        "ssl.endpoint.identification.algorithm": "HTTPS",
    }


def test_values_are_read_by_their_types() -> None:
    values, faults = METADATA_CONFIG.read(
        {
            "zookeeper.connect": "zk1:2181,zk2:2181/kafka",
            "zookeeper.connection.timeout.ms": "1",
            "zookeeper.sasl.client": "false",
            "zookeeper.ssl.enabled.protocols": "TLSv1.2, TLSv1.3",
            "zookeeper.ssl.endpoint.identification.algorithm": "",
        }
    )
    assert faults == []
    assert values["zookeeper.connect"] == "zk1:2181,zk2:2181/kafka"
    assert values["zookeeper.connection.timeout.ms"] == 1
    assert values["zookeeper.sasl.client"] is False
    assert values["zookeeper.ssl.enabled.protocols"] == ["TLSv1.2", "TLSv1.3"]
    assert values["zookeeper.ssl.endpoint.identification.algorithm"] == ""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("zookeeper.session.timeout.ms", "0"),
        ("zookeeper.connection.timeout.ms", "0"),
        ("zookeeper.set.acl", "maybe"),
        ("zookeeper.ssl.client.enable", "1"),
    ],
)
def test_invalid_values_are_rejected_by_name(key: str, text: str) -> None:
    _, faults = METADATA_CONFIG.read({key: text})
    assert [fault.key for fault in faults] == [key]


def test_passwords_are_secret_and_all_keys_need_a_restart() -> None:
    passwords = {row.name for row in METADATA_CONFIG if row.type is ConfigType.PASSWORD}
    assert passwords == {row.name for row in METADATA_CONFIG if row.name.endswith("password")}
    assert len(passwords) == 2
    assert {row.dynamic for row in METADATA_CONFIG} == {Dynamic.READ_ONLY}
