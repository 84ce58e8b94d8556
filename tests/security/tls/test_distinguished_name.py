from __future__ import annotations

from signalbox.security.tls.contexts import server_context
from signalbox.security.tls.distinguished_name import distinguished_name
from tests.security.tls.handshakes import inline, shake_hands


def test_names_as_java_prints_them() -> None:
    _, client = shake_hands(server_context(inline()))
    assert distinguished_name(client.getpeercert() or {}) == "CN=broker,O=Signal\\, Box,C=DE"
    certificate = {"subject": ((("countryName", "DE"),), (("commonName", "#x"), ("userId", "7")))}
    assert distinguished_name(certificate) == "CN=\\#x+UID=7,C=DE"
    assert distinguished_name({}) == ""
