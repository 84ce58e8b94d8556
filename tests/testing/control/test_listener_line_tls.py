"""A relay's TLS from a broker's server.properties."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from signalbox.configuration.config_file import ConfigFileError
from signalbox.security.tls.settings import TlsConfigError
from signalbox.testing.control.listener_line_tls import listener_line_tls
from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles, write_certificates
from tests.security.tls.handshakes import shake_hands

pytestmark = pytest.mark.spec("R7")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return write_certificates(tmp_path_factory.mktemp("certificates"))


def properties(folder: Path, files: CertificateFiles, protocol: str = "SSL", more: Mapping[str, str] = {}) -> Path:
    file = folder / "server.properties"
    keys = {
        "node.id": "1",
        "listeners": "CLIENT://127.0.0.1:1,CONTROL://127.0.0.1:2",
        "listener.security.protocol.map": f"CLIENT:{protocol},CONTROL:PLAINTEXT",
        "inter.broker.listener.name": "CONTROL",
        "listener.name.client.ssl.keystore.location": str(files.broker),
        "listener.name.client.ssl.keystore.type": "PEM",
    }
    file.write_text("".join(f"{key}={value}\n" for key, value in {**keys, **more}.items()))
    return file


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_clients_see_the_brokers_certificate_and_the_relay_trusts_it(
    tmp_path: Path, files: CertificateFiles, protocol: str
) -> None:
    tls = listener_line_tls(properties(tmp_path, files, protocol), "CLIENT")
    assert tls is not None
    _, client = shake_hands(tls.to_caller, ssl.create_default_context(cafile=str(files.authority)))
    assert ("DNS", "localhost") in cast("tuple[object, ...]", (client.getpeercert() or {})["subjectAltName"])
    shake_hands(files.line_tls().to_caller, tls.to_target, "any.name")
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        shake_hands(files.line_tls().to_caller, ssl.create_default_context())


def test_a_broker_that_asks_for_certificates_sees_its_own(tmp_path: Path, files: CertificateFiles) -> None:
    asks = {
        "listener.name.client.ssl.client.auth": "required",
        "listener.name.client.ssl.truststore.location": str(files.authority),
        "listener.name.client.ssl.truststore.type": "PEM",
    }
    tls = listener_line_tls(properties(tmp_path, files, more=asks), "CLIENT")
    assert tls is not None
    server, _ = shake_hands(tls.to_caller, tls.to_target)
    certificate = server.getpeercert() or {}
    assert "signalbox test broker" in str(certificate["subject"])


def test_what_a_relay_cannot_read_names_the_key(tmp_path: Path, files: CertificateFiles) -> None:
    (tmp_path / "others").mkdir()
    asks = {
        "listener.name.client.ssl.client.auth": "required",
        "listener.name.client.ssl.truststore.location": str(write_certificates(tmp_path / "others").authority),
        "listener.name.client.ssl.truststore.type": "PEM",
    }
    with pytest.raises(TlsConfigError, match=r"^ssl\.truststore\.location: .* the truststore must know who signed it"):
        listener_line_tls(properties(tmp_path, files, more=asks), "CLIENT")
    with pytest.raises(ConfigFileError):
        listener_line_tls(tmp_path / "missing", "CLIENT")


def test_listeners_without_tls_have_none(tmp_path: Path, files: CertificateFiles) -> None:
    file = properties(tmp_path, files, "SASL_PLAINTEXT")
    assert listener_line_tls(file, "CLIENT") is None
    assert listener_line_tls(file, "EXTERNAL") is None
