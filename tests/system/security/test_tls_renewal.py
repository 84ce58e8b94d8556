"""L5, L7: stores that Java's keytool creates; certificates that are renewed while clients stay connected."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from signalbox.testing.cluster import Cluster
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.system.provision import command
from tests.waiting import until

PASSWORD = "store-secret"
KEY = "listener.name.client.ssl.keystore.location"


def keytool(*arguments: str) -> str:
    quick = (f"-J{option}" for option in QUICK_JAVA)
    done = subprocess.run([command("keytool"), *quick, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


class Stores:
    """Keystores of brokers with one authority; each file is named .jks, as many files with PKCS12 are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._signer = self.keystore("ca", "CN=authority", "-ext", "bc:c")
        self.authority = self._export(self._signer, "ca")

    def keystore(self, alias: str, name: str, *more: str, kind: str = "PKCS12") -> Path:
        path = self.folder / f"{alias}.jks"
        path.unlink(missing_ok=True)
        keytool(
            "-genkeypair", "-alias", alias, "-keyalg", "RSA", "-keysize", "2048", "-dname", name,
            "-keystore", str(path), "-storetype", kind, "-storepass", PASSWORD, "-keypass", PASSWORD, *more,
        )  # fmt: skip
        return path

    def signed(self, alias: str, name: str = "CN=broker,O=Signal Box") -> Path:
        """A keystore with a certificate for localhost and its chain."""
        path = self.keystore(alias, name)
        request, certificate = self.folder / f"{alias}.csr", self.folder / f"{alias}.crt"
        store = ("-storepass", PASSWORD, "-alias")
        keytool("-certreq", "-keystore", str(path), *store, alias, "-file", str(request))
        keytool(
            "-gencert", "-keystore", str(self._signer), *store, "ca", "-infile", str(request), "-outfile",
            str(certificate), "-ext", "san=dns:localhost,ip:127.0.0.1",
        )  # fmt: skip
        for kind, file in (("ca", self.authority), (alias, certificate)):
            keytool("-importcert", "-noprompt", "-keystore", str(path), *store, kind, "-file", str(file))
        return path

    def truststore(self) -> Path:
        path = self.folder / "trust.jks"
        keytool(
            "-importcert", "-noprompt", "-keystore", str(path), "-storetype", "PKCS12", "-storepass", PASSWORD,
            "-alias", "ca", "-file", str(self.authority),
        )  # fmt: skip
        return path

    def _export(self, keystore: Path, alias: str) -> Path:
        path = self.folder / f"{alias}.pem"
        keytool(
            "-exportcert",
            "-rfc",
            "-keystore",
            str(keystore),
            "-storepass",
            PASSWORD,
            "-alias",
            alias,
            "-file",
            str(path),
        )
        return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("keytool"))


@pytest.fixture(scope="module")
def cluster(stores: Stores) -> Iterator[Cluster]:
    overrides = {
        "listener.security.protocol.map": "CLIENT:SSL,REPLICATION:SSL,CONTROL:SSL",
        "ssl.keystore.type": "JKS",
        "ssl.keystore.location": str(stores.signed("broker")),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": "JKS",
        "ssl.truststore.location": str(stores.truststore()),
        "ssl.truststore.password": PASSWORD,
        "ssl.client.auth": "required",
        "listener.name.client.ssl.client.auth": "none",
    }
    with Cluster(2, overrides=overrides) as running:
        yield running


def settings(cluster: Cluster, stores: Stores) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SSL",
        "ssl.ca.location": str(stores.authority),
    }


def certificate(cluster: Cluster) -> str:
    """The certificate that broker 1 presents to a new connection."""
    host, _, port = str(cluster.nodes[1].describe()["listeners"]["CLIENT"]).rpartition(":")
    return ssl.get_server_certificate((host, int(port)))


def set_again(admin: AdminClient, path: Path) -> None:
    """Sets the keystore's location; raises the error of the response."""
    entry = ConfigEntry(KEY, str(path), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    for answered in admin.incremental_alter_configs([resource]).values():
        answered.result(20)


@pytest.mark.spec("L5")
@pytest.mark.spec("L7")
def test_stores_of_keytool_and_certificates_that_change_under_a_producer(cluster: Cluster, stores: Stores) -> None:
    given = settings(cluster, stores)
    admin, producer = AdminClient(given), Producer({**given, "enable.idempotence": True})
    lost: list[object] = []

    def produce() -> None:
        for number in range(50):
            producer.produce("renewed", str(number), on_delivery=lambda error, _: lost.append(error) if error else None)
        assert producer.flush(30) == 0

    produce()
    seen = [certificate(cluster)]
    set_again(admin, stores.signed("second"))
    until(lambda: certificate(cluster) not in seen, "the certificate of another file")
    produce()
    for alias in ("second", "second"):  # the same file name with new content, twice
        seen.append(certificate(cluster))
        set_again(admin, stores.signed(alias))
        until(lambda: certificate(cluster) not in seen, "the certificate of the replaced file")
        produce()
    assert lost == []
    late_producer = Producer(given)
    late_producer.produce("renewed", b"from a later producer")
    assert late_producer.flush(30) == 0


def test_a_keystore_with_another_name_is_rejected(cluster: Cluster, stores: Stores) -> None:
    admin, before = AdminClient(settings(cluster, stores)), certificate(cluster)
    with pytest.raises(KafkaException, match=r"for CN=other,O=Signal Box.*ssl\.allow\.dn\.changes"):
        set_again(admin, stores.signed("other", "CN=other,O=Signal Box"))
    java = stores.keystore("old", "CN=broker,O=Signal Box", kind="JKS")
    with pytest.raises(KafkaException, match=r"is a JKS store, which only Java reads; convert it: keytool"):
        set_again(admin, java)
    assert certificate(cluster) == before
