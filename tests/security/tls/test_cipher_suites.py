from __future__ import annotations

import ssl

import pytest

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
