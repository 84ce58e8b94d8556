"""The login of a local cluster's brokers: created once, readable only by its owner, and not used if the configuration
has its own security."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from signalbox.security.jaas import parse_jaas_file
from signalbox.testing.broker_logins import BrokerLogins, names_own_security, speaks_securely

PROTOCOLS = {"listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"}


def test_the_password_is_generated_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    logins = BrokerLogins(tmp_path / "cluster")
    logins.write()
    text = logins.file.read_text()
    assert logins.file.stat().st_mode & 0o777 == 0o600
    logins.file.chmod(0o644)
    logins.write()
    assert (logins.file.read_text(), logins.file.stat().st_mode & 0o777) == (text, 0o600)
    BrokerLogins(tmp_path / "other").write()
    assert (tmp_path / "other" / "brokers.jaas").read_text() != text
    sections = parse_jaas_file(text)
    assert set(sections) == {"replication.KafkaServer", "control.KafkaServer", "controller.KafkaServer"}
    for (module,) in sections.values():
        password = module.options["password"]
        assert len(password) == 32
        assert dict(module.options) == {"username": "up_broker", "password": password, "user_up_broker": password}
    assert list(logins.file.parent.iterdir()) == [logins.file]


@pytest.mark.parametrize("controllers", ["", ",CONTROLLER:PLAINTEXT"])
def test_the_listeners_of_brokers_are_secured_and_no_other(tmp_path: Path, controllers: str) -> None:
    key = "listener.security.protocol.map"
    before = {key: PROTOCOLS[key] + controllers, "node.id": "1"}
    after = BrokerLogins(tmp_path).properties(before)
    protocols = dict(pair.split(":") for pair in after[key].split(","))
    assert protocols.pop("CLIENT") == "PLAINTEXT"
    assert set(protocols.values()) == {"SASL_PLAINTEXT"}
    assert len(protocols) == (3 if controllers else 2)
    assert after["node.id"] == "1"
    mechanisms = {found[1] for each in after if (found := re.fullmatch(r"listener\.name\.(\w+)\..*mechanisms", each))}
    assert mechanisms == {"replication", "control", *(["controller"] if controllers else [])}
    assert ("sasl.mechanism.controller.protocol" in after) is bool(controllers)
    texts = ["".join(f"{key}={value}\n" for key, value in each.items()) for each in (before, after)]
    assert [speaks_securely(each) for each in (before, after)] == [False, True]
    assert not any(secret in texts[1] for secret in ("password", "username"))


@pytest.mark.parametrize(
    ("key", "own"),
    [
        ("listener.security.protocol.map", True),
        ("sasl.enabled.mechanisms", True),
        ("listener.name.control.plain.sasl.jaas.config", True),
        ("listeners", True),
        ("listener.name.client.max.connections", False),
        ("listener.name.client.sasl.enabled.mechanisms", False),
        ("num.partitions", False),
        ("authorizer.class.name", False),
    ],
)
def test_which_keys_are_security_settings(key: str, own: bool) -> None:
    assert names_own_security(["log.retention.ms", key]) == ([key] if own else [])
