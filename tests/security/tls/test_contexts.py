from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from signalbox.security.tls.contexts import client_context, provider_context, server_context
from signalbox.security.tls.settings import TlsConfigError, TlsSettings
from tests.security.tls.handshakes import AUTHORITY, BROKER, inline, shake_hands


def test_text_in_the_configuration() -> None:
    _, client = shake_hands(server_context(inline()))
    certificate = client.getpeercert()
    assert certificate is not None
    assert (("commonName", "broker"),) in certificate["subject"]


def test_an_encrypted_key() -> None:
    assert shake_hands(server_context(inline(keystore_key=BROKER.key_pem("pass"), key_password="pass")))
    for password in ("wrong", ""):
        with pytest.raises(TlsConfigError) as raised:
            server_context(inline(keystore_key=BROKER.key_pem("pass"), key_password=password))
        assert raised.value.key == "ssl.keystore.key"


def test_pem_files(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    settings = TlsSettings(
        keystore_location=BROKER.pem_file(tmp_path / "broker.pem", "pass"),
        key_password="pass",
        truststore_location=str(tmp_path / "ca.pem"),
        client_auth="requested",
    )
    context = server_context(settings)
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert shake_hands(context)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"client_auth": "maybe"}, "ssl.client.auth"),
        ({"client_auth": "required", "truststore_certificates": ""}, "ssl.truststore.location"),
        ({"keystore_key": "", "keystore_certificate_chain": ""}, "ssl.keystore.location"),
        ({"keystore_certificate_chain": AUTHORITY.pem}, "ssl.keystore.key"),
        ({"enabled_protocols": ("TLSv1.1",)}, "ssl.enabled.protocols"),
        ({"enabled_protocols": ()}, "ssl.enabled.protocols"),
        ({"protocol": "SSLv3"}, "ssl.protocol"),
        ({"cipher_suites": ("NO-SUCH-CIPHER",)}, "ssl.cipher.suites"),
    ],
)
def test_a_fault_names_its_key(changes: dict[str, object], key: str) -> None:
    with pytest.raises(TlsConfigError) as raised:
        server_context(inline(**changes))
    assert raised.value.key == key
    assert str(raised.value).startswith(key)


def test_certificates_that_are_none() -> None:
    broken = AUTHORITY.pem.replace("MII", "AAA", 1)
    with pytest.raises(TlsConfigError, match=r"^ssl\.truststore\.certificates: "):
        server_context(inline(truststore_certificates=broken))


def test_versions() -> None:
    context = server_context(inline(enabled_protocols=("TLSv1.3",)))
    assert context.minimum_version is context.maximum_version is ssl.TLSVersion.TLSv1_3
    assert context.options & ssl.OP_NO_RENEGOTIATION


def test_ssl_protocol_bounds_what_a_client_speaks() -> None:
    server = server_context(inline(protocol="TLSv1.2"))
    assert server.maximum_version is ssl.TLSVersion.TLSv1_3
    client = client_context(inline(protocol="TLSv1.2"))
    assert client.maximum_version is ssl.TLSVersion.TLSv1_2
    assert shake_hands(server, client)[0].version() == "TLSv1.2"
    assert client_context(inline(protocol="TLS")).maximum_version is ssl.TLSVersion.TLSv1_3
    with pytest.raises(TlsConfigError, match=r"^ssl\.protocol: "):
        client_context(inline(protocol="TLSv1.2", enabled_protocols=("TLSv1.3",)))


@pytest.mark.spec("L7")
def test_the_host_name_is_checked_unless_the_algorithm_is_empty() -> None:
    server = server_context(inline())
    assert shake_hands(server, client_context(inline()), "localhost")
    with pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"):
        shake_hands(server, client_context(inline()), "elsewhere")
    assert shake_hands(server, client_context(inline(endpoint_identification_algorithm="")), "elsewhere")
    assert client_context(TlsSettings()).verify_mode is ssl.CERT_REQUIRED
    with pytest.raises(TlsConfigError, match=r"^ssl\.endpoint\.identification\.algorithm: 'ldaps'"):
        client_context(inline(endpoint_identification_algorithm="LDAPS"))


@pytest.mark.parametrize("in_memory", [True, False])
def test_no_private_key_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool) -> None:
    if in_memory:
        monkeypatch.setattr("tempfile.mkstemp", None)  # no file is made at all
    else:
        monkeypatch.setattr("signalbox.security.tls.contexts._OWN_FILES", "/no/such/folder")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    server_context(inline())
    with pytest.raises(TlsConfigError):
        server_context(inline(keystore_certificate_chain=AUTHORITY.pem))
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_bare_module_trusts_the_system_and_checks_names() -> None:
    context = provider_context({})
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_its_truststore_counts(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    trusting = provider_context({"ssl.truststore.location": str(tmp_path / "ca.pem"), "ssl.truststore.type": "PEM"})
    assert shake_hands(server_context(inline()), trusting)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_context(inline()), provider_context({}))


def test_names_are_checked_unless_switched_off(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    options = {"ssl.truststore.location": str(tmp_path / "ca.pem"), "ssl.endpoint.identification.algorithm": ""}
    assert not provider_context(options).check_hostname


def test_a_certificate_of_ones_own(tmp_path: Path) -> None:
    options = {"ssl.keystore.location": BROKER.pem_file(tmp_path / "own.pem", "pass"), "ssl.key.password": "pass"}
    assert provider_context(options)
    with pytest.raises(TlsConfigError):
        provider_context({**options, "ssl.key.password": "wrong"})


@pytest.mark.parametrize(
    ("option", "text"), [("ssl.truststore.location", "/no/such"), ("ssl.enabled.protocols", "TLSv1.1")]
)
def test_the_option_that_is_wrong_is_named(option: str, text: str) -> None:
    with pytest.raises(TlsConfigError) as rejected:
        provider_context({option: text})
    assert rejected.value.key == option
