"""The store that a configuration names, and the faults of such a setting."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.clock import SystemClock
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.metadata_store import check_store, longest_session_s, open_store
from signalbox.metadata.store.sqlite import SqliteMetadataStore

TLS = {"zookeeper.connect": "zk", "zookeeper.ssl.client.enable": "true"}


def faults(given: dict[str, str]) -> list[tuple[str, str, str]]:
    values, unread = NODE_CONFIG.read(given)
    assert unread == []
    return [(fault.key, fault.entry, fault.problem) for fault in check_store(values)]


def test_a_package_that_is_missing_is_a_fault_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.configuration.metadata_store.find_spec", lambda name: None)
    store = "zookeeper:zk1:2181/kafka"
    problem = "needs the Python package kazoo, which is not installed"
    assert faults({"signalbox.metadata.store": store}) == [("signalbox.metadata.store", store, problem)]


@pytest.mark.parametrize(
    "given",
    [
        {"signalbox.metadata.store": "sqlite:/x/y.db"},
        {"signalbox.metadata.store": "zookeeper:zk1:2181,zk2:2181/kafka"},
        {"zookeeper.connect": "zk1:2181/kafka"},
    ],
)
def test_stores_that_there_are(given: dict[str, str]) -> None:
    assert faults(given) == []


@pytest.mark.parametrize(
    ("given", "key", "gist"),
    [
        ({}, "signalbox.metadata.store", "is missing"),
        ({"signalbox.metadata.store": "sqlite:"}, "signalbox.metadata.store", "is no store"),
        ({"signalbox.metadata.store": "etcd:here"}, "signalbox.metadata.store", "is no store"),
        (
            {"signalbox.metadata.store": "sqlite:a", "zookeeper.connect": "zk"},
            "signalbox.metadata.store",
            "is set as well",
        ),
        ({"signalbox.metadata.store": "zookeeper:zk:x"}, "signalbox.metadata.store", "'x' is no port"),
        ({"zookeeper.connect": "zk:1/a,zk2:1/a"}, "zookeeper.connect", "one chroot follows the last host"),
        ({**TLS, "zookeeper.ssl.truststore.location": "/no"}, "zookeeper.ssl.truststore.location", "cannot be read"),
        ({**TLS, "zookeeper.ssl.keystore.type": "BCFKS", "zookeeper.ssl.keystore.location": "/dev/null"},
         "zookeeper.ssl.keystore.type", "is neither PEM nor PKCS12"),
        ({**TLS, "zookeeper.ssl.truststore.location": "/dev/null"}, "zookeeper.ssl.truststore.location",
         "holds no certificate in PEM"),
        ({**TLS, "zookeeper.ssl.protocol": "SSLv3"}, "zookeeper.ssl.protocol", "'SSLv3' is not TLS"),
        ({**TLS, "zookeeper.ssl.cipher.suites": "TLS_X"}, "zookeeper.ssl.cipher.suites", "no such cipher suite"),
        ({"zookeeper.connect": "zk", "zookeeper.set.acl": "true"}, "zookeeper.set.acl", "needs an identity"),
        ({**TLS, "zookeeper.set.acl": "true"}, "zookeeper.set.acl", "needs an identity"),
        ({"zookeeper.connect": "zk", "signalbox.sasl.jaas.file": "/no"}, "signalbox.sasl.jaas.file", "cannot be read"),
    ],
)  # fmt: skip
def test_a_fault_names_the_key(given: dict[str, str], key: str, gist: str) -> None:
    [(fault_key, _, problem)] = faults(given)
    assert fault_key == key
    assert gist in problem


def test_a_store_is_opened_with_a_session(tmp_path: Path) -> None:
    async def scenario() -> None:
        values, _ = NODE_CONFIG.read({"signalbox.metadata.store": f"sqlite:{tmp_path / 'm.db'}"})
        store = await open_store(values, SystemClock())
        assert isinstance(store, SqliteMetadataStore)
        assert store.session_id
        await store.close()

    asyncio.run(scenario())


def test_an_ensemble_that_is_not_there_rejects_the_start_and_names_the_key() -> None:
    async def scenario() -> None:
        given = {"zookeeper.connect": "127.0.0.1:1", "zookeeper.connection.timeout.ms": "200"}
        values, _ = NODE_CONFIG.read(given)
        with pytest.raises(StartError) as rejected:
            await open_store(values, SystemClock())
        [fault] = rejected.value.faults
        assert fault.key == "zookeeper.connect"
        assert "no ZooKeeper at 127.0.0.1:1" in fault.problem

    asyncio.run(scenario())


def test_a_java_keystore_is_rejected_with_the_way_to_convert_it(tmp_path: Path) -> None:
    store = tmp_path / "broker.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed" + b"\0" * 20)
    [(key, _, problem)] = faults({**TLS, "zookeeper.ssl.keystore.location": str(store)})
    assert key == "zookeeper.ssl.keystore.type"
    assert "keytool -importkeystore" in problem


DIGEST = 'org.apache.zookeeper.server.auth.DigestLoginModule required username="u" password="p";'


@pytest.mark.parametrize(
    ("section", "given", "key", "gist"),
    [
        (f"Client {{ {DIGEST} }};", {}, "", ""),
        (f"Server {{ {DIGEST} }};", {"zookeeper.sasl.client": "false", "zookeeper.set.acl": "false"}, "", ""),
        (f"Zk {{ {DIGEST} }};", {"zookeeper.sasl.clientconfig": "Zk"}, "", ""),
        (f"Client {{ {DIGEST} }};", {"zookeeper.sasl.client": "false"}, "zookeeper.sasl.client", "switches off"),
        ("Client { a.B required; };", {}, "zookeeper.sasl.clientconfig", "no login by DIGEST-MD5"),
        (f"Client {{ {DIGEST.replace('password', 'pass')} }};", {}, "zookeeper.sasl.clientconfig", "no username and"),
        (f"Zk {{ {DIGEST} }};", {}, "zookeeper.set.acl", "needs an identity"),
    ],
)
def test_the_login_of_a_jaas_file(
    section: str, given: dict[str, str], key: str, gist: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    file = tmp_path / "jaas.conf"
    file.write_text(section)
    found = faults(
        {"zookeeper.connect": "zk", "zookeeper.set.acl": "true", "signalbox.sasl.jaas.file": str(file), **given}
    )
    assert [each[0] for each in found] == ([key] if key else [])
    assert gist in "".join(each[2] for each in found)


def test_javas_property_switches_the_login_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_OPTS", "-Dzookeeper.sasl.client=false")
    file = tmp_path / "jaas.conf"
    file.write_text(f"Client {{ {DIGEST} }};")
    [(key, _, _)] = faults({"zookeeper.connect": "zk", "signalbox.sasl.jaas.file": str(file)})
    assert key == "zookeeper.sasl.client"


@pytest.mark.parametrize(("timeout_ms", "expected_s"), [("6000", 30), ("18000", 30), ("60000", 70)])
def test_a_restarted_node_waits_longer_than_its_old_session_lasts(timeout_ms: str, expected_s: float) -> None:
    values, _ = NODE_CONFIG.read({"zookeeper.session.timeout.ms": timeout_ms})
    assert longest_session_s(values) == expected_s
