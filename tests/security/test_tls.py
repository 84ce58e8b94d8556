from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.security.tls import (
    TlsConfigError,
    TlsSettings,
    client_context,
    distinguished_name,
    server_context,
    tls_settings,
)
from tests.security.certificates import Authority

AUTHORITY = Authority()
BROKER = AUTHORITY.identity("broker")
INLINE = TlsSettings(
    keystore_key=BROKER.key_pem(),
    keystore_certificate_chain=BROKER.certificate_pem,
    truststore_certificates=AUTHORITY.pem,
)


def subject_seen_by_a_client(context: ssl.SSLContext) -> str:
    """Shakes hands in memory."""
    client_in, client_out = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = client_context(TlsSettings(truststore_certificates=AUTHORITY.pem))
    client = trusting.wrap_bio(client_in, client_out, server_hostname="localhost")
    server = context.wrap_bio(client_out, client_in, server_side=True)
    for _ in range(6):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    certificate = client.getpeercert()
    assert certificate
    return distinguished_name(certificate)


def test_text_in_the_configuration() -> None:
    assert subject_seen_by_a_client(server_context(INLINE)) == "CN=broker,O=Signal\\, Box,C=DE"


def test_an_encrypted_key() -> None:
    protected = replace(INLINE, keystore_key=BROKER.key_pem("pass"), key_password="pass")
    assert subject_seen_by_a_client(server_context(protected))
    for password in ("wrong", ""):
        with pytest.raises(TlsConfigError) as raised:
            server_context(replace(protected, key_password=password))
        assert raised.value.key == "ssl.keystore.key"


def test_pem_files(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    settings = TlsSettings(
        keystore_location=BROKER.pem_file(tmp_path / "broker.pem", "pass"),
        key_password="pass",
        truststore_location=str(tmp_path / "ca.pem"),
        client_auth="required",
    )
    context = server_context(settings)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert subject_seen_by_a_client(server_context(replace(settings, client_auth="requested")))


def test_pkcs12_stores(tmp_path: Path) -> None:
    settings = TlsSettings(
        keystore_type="PKCS12",
        keystore_location=BROKER.pkcs12_file(tmp_path / "broker.p12", "pass", AUTHORITY.certificate),
        keystore_password="pass",
        truststore_type="pkcs12",
        truststore_location=str(tmp_path / "broker.p12"),
        truststore_password="pass",
        client_auth="requested",
    )
    assert subject_seen_by_a_client(server_context(settings))
    with pytest.raises(TlsConfigError, match="wrong password"):
        server_context(replace(settings, keystore_password="other"))
    with pytest.raises(TlsConfigError, match=r"ssl\.truststore\.password"):
        server_context(replace(settings, truststore_password="other"))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"client_auth": "maybe"}, "ssl.client.auth"),
        ({"client_auth": "required", "truststore_certificates": ""}, "ssl.truststore.location"),
        ({"keystore_key": "", "keystore_certificate_chain": ""}, "ssl.keystore.location"),
        ({"keystore_key": "", "keystore_location": "/no/such/file"}, "ssl.keystore.location"),
        ({"keystore_key": "nonsense"}, "ssl.keystore.key"),
        ({"keystore_certificate_chain": AUTHORITY.pem}, "ssl.keystore.key"),
        ({"truststore_certificates": "nonsense"}, "ssl.truststore.certificates"),
        ({"enabled_protocols": ("TLSv1.1",)}, "ssl.enabled.protocols"),
        ({"enabled_protocols": ()}, "ssl.enabled.protocols"),
        ({"cipher_suites": ("NO-SUCH-CIPHER",)}, "ssl.cipher.suites"),
        ({"keystore_key": "", "keystore_location": "/x", "keystore_type": "JKS"}, "ssl.keystore.type"),
        ({"keystore_key": "", "keystore_location": "/x", "keystore_type": "BKS"}, "ssl.keystore.type"),
    ],
)
def test_a_fault_names_its_key(changes: dict[str, object], key: str) -> None:
    with pytest.raises(TlsConfigError) as raised:
        server_context(replace(INLINE, **changes))  # type: ignore[arg-type]
    assert raised.value.key == key
    assert str(raised.value).startswith(key)


def test_versions_and_host_check() -> None:
    context = server_context(replace(INLINE, enabled_protocols=("TLSv1.3",), cipher_suites=("ECDHE+AESGCM",)))
    assert context.minimum_version is context.maximum_version is ssl.TLSVersion.TLSv1_3
    assert client_context(INLINE).check_hostname
    assert not client_context(replace(INLINE, endpoint_identification_algorithm="")).check_hostname
    assert client_context(TlsSettings()).verify_mode is ssl.CERT_REQUIRED


def test_settings_come_from_the_rows() -> None:
    values = {row.name: row.default for row in NETWORK_CONFIG}

    def text(key: str) -> str:
        return "" if values[key] is None else str(values[key])

    def names(key: str) -> list[str]:
        value = values[key]
        assert isinstance(value, list)
        return value

    assert tls_settings(text, names) == TlsSettings()


def test_names_as_java_prints_them() -> None:
    certificate = {"subject": ((("countryName", "DE"),), (("commonName", "#x"), ("userId", "7")))}
    assert distinguished_name(certificate) == "CN=\\#x+UID=7,C=DE"
    assert distinguished_name({}) == ""
