"""TLS and logins to a real ZooKeeper, and who may read a cluster's entries there (zookeeper.set.acl)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from signalbox.common.clock import SystemClock
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.metadata_store import check_store, open_store
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.port import Create
from signalbox.testing.free_ports import free_ports
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.security.certificates import Authority
from tests.system import provision
from tests.system.clusters import QUICK
from tests.system.zookeeper.test_zookeeper_cluster import create

pytestmark = [pytest.mark.timeout(180), pytest.mark.slow, pytest.mark.spec("M1", "M2")]

_PASSWORD = 'zk-"s3cret" ä'
_ESCAPED = _PASSWORD.replace('"', '\\"')
_SERVERS_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
_files = itertools.count()
_ACLS = {"zookeeper.set.acl": "true"}


@dataclass(frozen=True)
class Guarded:
    """One ZooKeeper with a plain port, on which clients may log in, and a TLS port, which requires certificates."""

    folder: Path
    authority: Authority
    plain: str
    secure: str

    def jaas(self, password: str = _ESCAPED, section: str = "Client") -> dict[str, str]:
        """A JAAS file with the login of user `broker`."""
        file = self.folder / f"{section}-{next(_files)}.conf"
        file.write_text(f'{section} {{\n {_SERVERS_MODULE} required username="broker" password="{password}";\n}};\n')
        return {"signalbox.sasl.jaas.file": str(file)}

    def tls(self, kind: str = "PEM", authority: Authority | None = None) -> dict[str, str]:
        """Key and certificate of a broker, in stores of this kind."""
        identity, trusted = self.authority.identity("broker"), (authority or self.authority).certificate
        file = self.folder / f"broker-{next(_files)}.{kind.lower()}"
        keys = {
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.ssl.keystore.location": str(file),
            "zookeeper.ssl.keystore.password": "store-s3cret",
            "zookeeper.ssl.keystore.type": kind,
            "zookeeper.ssl.truststore.location": str(file),
            "zookeeper.ssl.truststore.type": kind,
        }
        if kind == "PEM":
            identity.pem_file(file, "store-s3cret")
            truststore = file.with_suffix(".trusted.pem")
            truststore.write_text((authority or self.authority).pem)
            return keys | {"zookeeper.ssl.truststore.location": str(truststore)}
        identity.pkcs12_file(file, "store-s3cret", trusted)
        return keys | {"zookeeper.ssl.truststore.password": "store-s3cret"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    provision.zookeeper()
    folder, authority = tmp_path_factory.mktemp("guarded"), Authority()
    (folder / "trusted.pem").write_text(authority.pem)
    authority.identity("zookeeper").pem_file(folder / "server.pem")
    jaas = folder / "server.conf"
    jaas.write_text(f'Server {{\n {_SERVERS_MODULE} required user_broker="{_ESCAPED}";\n}};\n', encoding="utf-8")
    secure_port = free_ports(1)[0]
    settings = {
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "secureClientPort": str(secure_port),
        "secureClientPortAddress": "127.0.0.1",
        "ssl.keyStore.location": str(folder / "server.pem"),
        "ssl.trustStore.location": str(folder / "trusted.pem"),
        "authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    }
    java = (f"-Djava.security.auth.login.config={jaas}", "-Dfile.encoding=UTF-8")
    with ensemble(folder, settings=settings, java=java) as (server,):
        yield Guarded(folder, authority, server.address, f"localhost:{secure_port}")


def read_configuration(given: dict[str, str]) -> dict[str, Any]:
    values, unread = NODE_CONFIG.read(given)
    assert [*unread, *check_store(values)] == []
    return values


def make_entries(given: dict[str, str], *paths: str) -> None:
    """Creates entries as a broker with this configuration does."""

    async def run() -> None:
        store = await open_store(read_configuration(given), SystemClock())
        await create_roots(store)
        await store.commit([Create(path, b"{}") for path in paths])
        await store.close()

    asyncio.run(run())


def acls(client: KazooClient, path: str) -> set[tuple[str, str, int]]:
    """(scheme, id, permissions) of an entry."""
    return {(acl.id.scheme, acl.id.id, acl.perms) for acl in client.get_acls(path)[0]}


@pytest.fixture
def unauthenticated(guarded: Guarded) -> Iterator[KazooClient]:
    """An unauthenticated client on the plain port."""
    client = KazooClient(guarded.plain)
    client.start(10)
    yield client
    client.stop()
    client.close()


@pytest.mark.parametrize("kind", ["PEM", "PKCS12"])
def test_a_certificate_is_an_identity(guarded: Guarded, unauthenticated: KazooClient, kind: str) -> None:
    connect = {"zookeeper.connect": f"{guarded.secure}/tls-{kind}"}
    make_entries(guarded.tls(kind) | connect | _ACLS, "/config/users/alice", "/config/topics/t")
    name = "CN=broker,O=Signal\\, Box,C=DE"
    assert acls(unauthenticated, f"/tls-{kind}/config/topics/t") == {("x509", name, 31), ("world", "anyone", 1)}
    for look in (unauthenticated.get, unauthenticated.get_acls, unauthenticated.get_children):
        with pytest.raises(NoAuthError):
            look(f"/tls-{kind}/config/users/alice")


def test_a_login_is_an_identity(guarded: Guarded, unauthenticated: KazooClient) -> None:
    connect = {"zookeeper.connect": f"{guarded.plain}/login"}
    make_entries(guarded.jaas() | connect | _ACLS, "/config/users/alice", "/brokers/topics/t")
    with pytest.raises(NoAuthError):
        unauthenticated.get("/login/config/users/alice")
    assert acls(unauthenticated, "/login/brokers/topics/t") == {("sasl", "broker", 31), ("world", "anyone", 1)}
    assert acls(unauthenticated, "/login/consumers") == {("world", "anyone", 31)}, "old consumers write there"
    assert unauthenticated.get("/login/brokers/topics/t")[0] == b"{}"
    for change in (unauthenticated.delete, lambda path: unauthenticated.set(path, b"x")):
        with pytest.raises(NoAuthError):
            change("/login/brokers/topics/t")


def test_another_section_by_javas_property(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = {"zookeeper.connect": f"{guarded.plain}/section"}
    monkeypatch.setenv("KAFKA_OPTS", "-Dzookeeper.sasl.clientconfig=Coordination")
    make_entries(guarded.jaas(section="Coordination") | connect | _ACLS, "/config/users/alice")


@pytest.mark.parametrize(
    ("case", "gist"),
    [
        ("wrong password", "the login of 'broker' at ZooKeeper failed"),
        ("untrusted certificate", "CERTIFICATE_VERIFY_FAILED"),
        ("plain on the TLS port", "no ZooKeeper at"),
        ("TLS on the plain port", "no ZooKeeper at"),
        ("no common version", "no ZooKeeper at"),
    ],
)
def test_a_rejected_client_gets_the_reason(guarded: Guarded, case: str, gist: str) -> None:
    given = {
        "wrong password": guarded.jaas("guessed") | {"zookeeper.connect": guarded.plain},
        "untrusted certificate": guarded.tls(authority=Authority("other")) | {"zookeeper.connect": guarded.secure},
        "plain on the TLS port": {"zookeeper.connect": guarded.secure},
        "TLS on the plain port": guarded.tls() | {"zookeeper.connect": guarded.plain},
        "no common version": guarded.tls()
        | {"zookeeper.connect": guarded.secure, "zookeeper.ssl.cipher.suites": "TLS_RSA_WITH_AES_128_CBC_SHA"},
    }[case]
    values = read_configuration(given | {"zookeeper.connection.timeout.ms": "2000"})
    with pytest.raises(StartError) as rejected:
        asyncio.run(open_store(values, SystemClock()))
    [fault] = rejected.value.faults
    assert fault.key == "zookeeper.connect"
    assert gist in fault.problem
    assert "guessed" not in str(rejected.value)


def test_a_cluster_keeps_its_metadata_to_itself(guarded: Guarded, unauthenticated: KazooClient, tmp_path: Path) -> None:
    """Brokers with certificates and a login: they elect a controller, store changes and receive them; unauthenticated
    clients may read everything but secrets."""
    store = {"signalbox.metadata.store": f"zookeeper:{guarded.secure}/cluster", "zookeeper.ssl.cipher.suites": _SUITE}
    overrides = {**QUICK, **store, **guarded.tls("PKCS12"), **guarded.jaas(), **_ACLS}
    with ProcessCluster(tmp_path, 3, overrides=overrides) as cluster:
        create(AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2}), "guarded")
        assert set(unauthenticated.get_children("/cluster/brokers/ids")) == {"1", "2", "3"}
        assert "guarded" in unauthenticated.get_children("/cluster/brokers/topics")
        owners = {
            scheme for scheme, _, permissions in acls(unauthenticated, "/cluster/controller") if permissions == 31
        }
        assert owners == {"x509", "sasl"}
        with pytest.raises(NoAuthError):
            unauthenticated.get_children("/cluster/config/users")
        with pytest.raises(NoAuthError):
            unauthenticated.get("/cluster/signalbox_salt_secret")
        with pytest.raises(NoAuthError):
            unauthenticated.delete("/cluster/controller")
