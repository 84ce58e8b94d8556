from __future__ import annotations

import ssl

import pytest

from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsSettings
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.tls.tls_failure import TlsFailed, broken_reason, failure_kind, failure_reason
from signalbox.transport.tls.tls_records import NotTls
from tests.security.certificates import Authority
from tests.security.tls.handshakes import AUTHORITY, TRUSTING, inline, shake_hands

OTHER_AUTHORITY = Authority("other")


def reason(server: TlsSettings, client: TlsSettings = TRUSTING, host: str = "localhost") -> str:
    with pytest.raises(ssl.SSLError) as raised:
        shake_hands(server_context(server), client_context(client), host)
    assert failure_kind(raised.value) == "tls_handshake"
    return failure_reason(raised.value)


def test_a_peer_that_closes_during_the_handshake_may_be_without_tls() -> None:
    assert "perhaps its port is without TLS" in str(TlsFailed(PEER_CLOSED))
    assert str(TlsFailed("the reason")) == "the reason"


@pytest.mark.spec("L7")
def test_why_a_handshake_failed() -> None:
    mutual = inline(client_auth="required")
    assert "Hostname mismatch, certificate is not valid for 'elsewhere' (ssl.endpoint." in reason(
        inline(), host="elsewhere"
    )
    assert "IP address mismatch, certificate is not valid for '10.0.0.1' (ssl.endpoint." in reason(
        inline(), host="10.0.0.1"
    )
    assert "the peer's certificate is rejected: certificate has expired (ssl.keystore.* of the peer)" in reason(
        inline(AUTHORITY.expired("broker"))
    )
    assert "certificate is not yet valid (ssl.keystore.* of the peer)" in reason(
        inline(AUTHORITY.not_yet_valid("broker"))
    )
    assert "unable to get local issuer certificate (ssl.truststore.*)" in reason(
        inline(OTHER_AUTHORITY.identity("broker"))
    )
    assert "the peer sent no certificate (ssl.client.auth=required)" in reason(mutual)
    assert "unable to get local issuer" in reason(
        mutual, inline(OTHER_AUTHORITY.identity("user"), truststore_certificates=AUTHORITY.pem)
    )
    old, new = inline(enabled_protocols=("TLSv1.2",)), inline(enabled_protocols=("TLSv1.3",))
    assert "no TLS version in common (ssl.enabled.protocols)" in reason(new, old)
    short, long = (
        inline(enabled_protocols=("TLSv1.2",), cipher_suites=(f"TLS_ECDHE_ECDSA_WITH_AES_{size}",))
        for size in ("128_GCM_SHA256", "256_GCM_SHA384")
    )
    assert "no cipher suite in common (ssl.cipher.suites)" in reason(short, long)


def test_plaintext_on_tls_has_its_own_label() -> None:
    error = NotTls("the peer sent HTTP where TLS is expected")
    assert failure_kind(error) == "plaintext_on_tls"
    assert failure_reason(error).startswith("the peer sent HTTP where TLS is expected: check")


def test_an_unknown_reason_keeps_the_text_of_openssl() -> None:
    error = ssl.SSLError(1, "[SSL: SOMETHING] something")
    error.reason = "SOMETHING"
    assert failure_reason(error) == "the TLS handshake failed: SOMETHING"
    assert broken_reason(error) == "TLS failed: SOMETHING"
    assert broken_reason(ConnectionResetError("reset")) == "TLS failed: reset"
