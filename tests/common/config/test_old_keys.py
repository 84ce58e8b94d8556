"""Old names of the project's own keys."""

from __future__ import annotations

import pytest

from signalbox.broker.configs.kafka_dynamic_configs import KAFKA_DYNAMIC_CONFIGS
from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.config.old_keys import OLD_NAMES, current_name, old_name_warning, with_old_names
from signalbox.configuration.check.keys_of_kafka import KEYS_OF_KAFKA
from signalbox.configuration.configuration import NODE_CONFIG


@pytest.mark.parametrize(
    ("key", "current"),
    [
        ("metadata.store", "signalbox.metadata.store"),
        ("signalbox.metadata.store", "signalbox.metadata.store"),
        ("data.plane.slice.us", "signalbox.event.loop.slice.us"),
        ("signalbox.data.plane.slice.us", "signalbox.event.loop.slice.us"),
        ("num.partitions", "num.partitions"),
        (
            "listener.name.client.signalbox.sasl.oauthbearer.expected.scope",
            "listener.name.client.signalbox.sasl.oauthbearer.expected.scope",
        ),
        (
            "listener.name.client.oauthbearer.sasl.oauthbearer.expected.scope",
            "listener.name.client.oauthbearer.signalbox.sasl.oauthbearer.expected.scope",
        ),
        ("listener.name.client.socket.connection.setup.timeout.ms",) * 2,
        ("socket.connection.setup.timeout.ms",) * 2,
    ],
)
def test_the_current_name_of_a_key(key: str, current: str) -> None:
    assert current_name(key) == current


def test_old_names_and_new_names_correspond() -> None:
    values = {
        "node.id": "1",
        "signalbox.audit.enable": "true",
        "signalbox.event.loop.slice.us": "50",
        "listener.name.a.signalbox.sasl.oauthbearer.expected.scope": "f",
    }
    old = with_old_names(values)
    assert old == {
        "node.id": "1",
        "audit.enable": "true",
        "data.plane.slice.us": "50",
        "listener.name.a.sasl.oauthbearer.expected.scope": "f",
    }
    assert {current_name(key): value for key, value in old.items()} == values


@pytest.mark.parametrize("name", OLD_NAMES)
def test_each_renamed_key_exists_by_its_new_name_only(name: str) -> None:
    assert any(current_name(name) in table for table in (NODE_CONFIG, CLIENT_CONFIG))
    assert not any(name in table for table in (NODE_CONFIG, CLIENT_CONFIG, KEYS_OF_KAFKA, KAFKA_DYNAMIC_CONFIGS))


def test_the_warning_has_both_names() -> None:
    warning = old_name_warning("audit.enable")
    assert warning == "audit.enable is the old name of signalbox.audit.enable: the next release does not read it"
