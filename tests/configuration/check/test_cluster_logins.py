"""Whether brokers could log in at each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.configuration.check import cluster_logins as rules
from signalbox.configuration.check.checked_broker import CheckedBroker
from tests.configuration.check.brokers import broker
from tests.security.certificates import Authority

MAP = "CLIENT:PLAINTEXT,REPLICATION:{},CONTROL:PLAINTEXT"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = "listener.name.replication.plain.sasl.jaas.config"
MECHANISM = "sasl.mechanism.inter.broker.protocol"


def with_sasl(node_id: int, **changes: str) -> CheckedBroker:
    usual = {
        "listener.security.protocol.map": MAP.format("SASL_PLAINTEXT"),
        "sasl.enabled.mechanisms": "PLAIN",
        MECHANISM: "PLAIN",
        JAAS: f'{PLAIN} required username="b" password="hunter2" user_b="hunter2";',
    }
    return broker(node_id, **{**usual, **{key.replace("__", "."): value for key, value in changes.items()}})


def test_equal_secrets_authenticate() -> None:
    brokers = [with_sasl(node_id) for node_id in (1, 2, 3)]
    for rule in (rules.settings_for_peers, rules.mechanisms_taken, rules.users_known, rules.certificates_trusted):
        assert list(rule(brokers)) == [], rule.__name__


@pytest.mark.spec("L7")
def test_mechanisms() -> None:
    scram = with_sasl(2, sasl__enabled__mechanisms="PLAIN,SCRAM-SHA-256", **{MECHANISM: "SCRAM-SHA-256"})
    [fault] = rules.mechanisms_taken([with_sasl(1), scram])
    assert (fault.key, fault.entry, fault.origin) == (MECHANISM, "SCRAM-SHA-256", "2.properties")
    assert "broker 1 (1.properties) takes PLAIN on REPLICATION" in str(fault)


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    ("module", "problems"),
    [
        ('username="b" password="hunter2" user_b="other"', [("1", "has another password for it")]),
        ('username="b" password="hunter2"', [("1", "does not know this user")]),
        ('username="c" password="hunter2" user_b="hunter2"', [("2", "does not know this user")]),
    ],
)
def test_users(module: str, problems: list[tuple[str, str]]) -> None:
    found = list(rules.users_known([with_sasl(1), with_sasl(2, **{JAAS: f"{PLAIN} required {module};"})]))
    assert [(fault.origin[0], fault.problem.split(") ")[1].split(" on ")[0]) for fault in found] == problems
    assert all(fault.key == JAAS and "hunter2" not in str(fault) for fault in found)


def test_users_of_a_callback_handler_are_its_own_business() -> None:
    handler = {"listener.name.replication.plain.sasl.server.callback.handler.class": "my.Handler"}
    peer = with_sasl(2, **{JAAS: f'{PLAIN} required username="b" password="hunter2";', **handler})
    assert list(rules.users_known([with_sasl(1), peer])) == []


def test_users_of_a_jaas_file(tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(f'KafkaServer {{ {PLAIN} required username="b" password="other" user_b="other"; }};')
    found = list(rules.users_known([with_sasl(1), with_sasl(2, **{JAAS: "", "signalbox.sasl.jaas.file": str(file)})]))
    assert [(fault.origin, fault.entry) for fault in found] == [("1.properties", "b"), ("2.properties", "b")]


@pytest.mark.spec("L12")
def test_a_listener_that_only_the_peer_has() -> None:
    rolled = with_sasl(
        2,
        listeners="CLIENT://h2:1,REPLICATION://h2:2,CONTROL://h2:3,INTERNAL://h2:4",
        listener__security__protocol__map=MAP.format("SASL_PLAINTEXT") + ",INTERNAL:SASL_PLAINTEXT",
        inter__broker__listener__name="INTERNAL",
        **{"listener.name.internal.plain.sasl.jaas.config": f'{PLAIN} required username="b" password="x" user_b="x";'},
    )
    [fault] = rules.settings_for_peers([with_sasl(1), rolled])
    assert (fault.key, fault.origin) == ("listener.name.internal.plain.sasl.jaas.config", "1.properties")
    assert fault.problem.endswith("has no login module, needed to log in at broker 2 (2.properties)")


def with_tls(node_id: int, signed_by: Authority, trusted: str, host: str) -> CheckedBroker:
    identity = signed_by.identity("broker", hosts=[host])
    return broker(
        node_id,
        listener__security__protocol__map=MAP.format("SSL"),
        ssl__keystore__key=identity.key_pem(),
        ssl__keystore__certificate__chain=identity.certificate_pem,
        ssl__truststore__certificates=trusted,
    )


@pytest.mark.spec("L7")
def test_certificates() -> None:
    ours, theirs = Authority("ours"), Authority("theirs")
    one, two = with_tls(1, ours, ours.pem, "h1"), with_tls(2, ours, ours.pem, "h2")
    assert list(rules.certificates_trusted([one, two])) == []
    # a certificate of an authority that the other broker does not trust
    untrusted = with_tls(2, theirs, theirs.pem, "h2")
    found = list(rules.certificates_trusted([one, untrusted]))
    assert [(fault.key, fault.entry, fault.origin) for fault in found] == [
        ("ssl.truststore.location", "REPLICATION", f"{node_id}.properties") for node_id in (1, 2)
    ]
    # a certificate for another host than the advertised one
    [fault] = rules.certificates_trusted([one, with_tls(2, ours, ours.pem, "elsewhere")])
    assert fault.origin == "1.properties"
    assert "broker 2 (2.properties) would not be reached on REPLICATION://h2:2: " in fault.problem
    assert "h2" in fault.problem
