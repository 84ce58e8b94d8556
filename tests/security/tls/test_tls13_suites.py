from __future__ import annotations

import ssl
import sys

import pytest

from signalbox.security.tls.settings import TlsConfigError
from signalbox.security.tls.tls13_suites import TLS_1_3_SUITES, set_tls_1_3_suites
from tests.security.tls.handshakes import inline


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
