"""Handshakes in memory, and the settings of a broker whose key material is given as text."""

from __future__ import annotations

import ssl
from typing import Any

from signalbox.security.tls.contexts import client_context
from signalbox.security.tls.settings import TlsSettings
from tests.security.certificates import Authority, Identity

AUTHORITY = Authority()
BROKER = AUTHORITY.identity("broker")


def inline(identity: Identity = BROKER, authority: Authority = AUTHORITY, /, **others: Any) -> TlsSettings:
    """Settings with key, certificate chain and trusted certificates as text."""
    given: dict[str, Any] = {
        "keystore_key": identity.key_pem(),
        "keystore_certificate_chain": identity.certificate_pem,
        "truststore_certificates": authority.pem,
    }
    return TlsSettings(**given | others)


TRUSTING = TlsSettings(truststore_certificates=AUTHORITY.pem)


def shake_hands(
    server: ssl.SSLContext, client: ssl.SSLContext | None = None, host: str = "localhost"
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """(server's side, client's side) of a completed handshake; ssl.SSLError if it fails."""
    client = client or client_context(TRUSTING)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialling = client.wrap_bio(to_client, to_server, server_hostname=host)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    under_way = [dialling, answering]
    while under_way:
        for side in list(under_way):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            under_way.remove(side)
    return answering, dialling
