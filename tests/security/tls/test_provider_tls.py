"""TLS to an identity provider, from the `ssl.*` options of a login module."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from signalbox.security.tls.contexts import server_context
from signalbox.security.tls.provider_tls import provider_context
from signalbox.security.tls.settings import TlsConfigError
from tests.security.tls.handshakes import AUTHORITY, BROKER, inline, shake_hands


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
