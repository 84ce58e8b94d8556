from __future__ import annotations

import ssl
import sys

import pytest

from signalbox.security.tls.cipher_suites import TLS_1_3_SUITES, set_tls_1_3_suites
from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsConfigError
from tests.security.tls.handshakes import inline, shake_hands

ECDSA_128 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


def names(context: ssl.SSLContext) -> set[str]:
    return {suite["name"] for suite in context.get_ciphers()}


def negotiated(suites: str, **others: object) -> tuple[str, str]:
    """(suite, TLS version) with a client that accepts every suite."""
    server, _ = shake_hands(server_context(inline(cipher_suites=tuple(suites.split(",")), **others)))
    suite = server.cipher()
    assert suite is not None
    return suite[0], suite[1]


@pytest.mark.spec("L7")
def test_javas_names_select_the_protocols() -> None:
    assert negotiated(f"{ECDSA_128},TLS_AES_128_GCM_SHA256") == ("TLS_AES_128_GCM_SHA256", "TLSv1.3")
    assert negotiated(f"{ECDSA_128},TLS_AES_128_GCM_SHA256", enabled_protocols=("TLSv1.2",)) == (
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLSv1.2",
    )


def test_a_version_without_a_cipher_suite_is_not_offered() -> None:
    assert negotiated(ECDSA_128)[1] == "TLSv1.2"
    context = server_context(inline(cipher_suites=("TLS_CHACHA20_POLY1305_SHA256",)))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    for suite, version in ((ECDSA_128, "TLSv1.3"), ("TLS_AES_128_GCM_SHA256", "TLSv1.2")):
        with pytest.raises(TlsConfigError, match="none of the suites belongs"):
            server_context(inline(cipher_suites=(suite,), enabled_protocols=(version,)))


def test_every_family_and_openssls_own_names() -> None:
    suites = (
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "ECDHE-RSA-AES128-GCM-SHA256",
    )
    assert names(client_context(inline(cipher_suites=suites))) - {
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_GCM_SHA256",
    } == {
        "ECDHE-RSA-AES256-GCM-SHA384",
        "DHE-RSA-AES128-SHA256",
        "AES128-SHA",
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "ECDHE-RSA-AES128-GCM-SHA256",
    }


@pytest.mark.parametrize(
    "unknown",
    [
        "TLS_RSA_WITH_RC4_128_SHA",
        "SSL_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA384",
        "TLS_RSA_WITH_NULL_SHA256",
        "TLS_DH_anon_WITH_AES_128_CBC_SHA",
        "ECDHE+AESGCM",
        "tls_aes_128_gcm_sha256",
    ],
)
def test_a_suite_that_cannot_be_had_is_named(unknown: str) -> None:
    with pytest.raises(TlsConfigError) as raised:
        server_context(inline(cipher_suites=(ECDSA_128, unknown)))
    assert raised.value.key == "ssl.cipher.suites"
    assert raised.value.problem.startswith(f"{unknown}: ")


def suites(context: ssl.SSLContext) -> set[str]:
    return {suite["name"] for suite in context.get_ciphers() if suite["protocol"] == "TLSv1.3"}


@pytest.mark.parametrize("names", [[name] for name in sorted(TLS_1_3_SUITES)] + [sorted(TLS_1_3_SUITES)[:2]])
def test_exactly_those(names: list[str]) -> None:
    for kind in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(kind)
        older = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"]
        assert set_tls_1_3_suites(context, names)
        assert suites(context) == set(names)
        assert [suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"] == older


def test_all_of_them_are_the_default() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    assert suites(context) == TLS_1_3_SUITES
    assert set_tls_1_3_suites(context, sorted(TLS_1_3_SUITES))


def test_where_it_cannot_be_done_the_configuration_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    from signalbox.security.tls.contexts import server_context

    monkeypatch.setattr(sys, "implementation", type("Other", (), {"name": "other"}))
    with pytest.raises(TlsConfigError, match="cannot leave out TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256"):
        server_context(inline(cipher_suites=("TLS_AES_128_GCM_SHA256",)))
