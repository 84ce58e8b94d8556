"""A handshake in memory between two contexts, before connections depend on them."""

from __future__ import annotations

from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.handshake_problem import handshake_problem
from signalbox.security.tls.settings import TlsSettings
from tests.security.certificates import Authority

OURS, THEIRS = Authority("ours"), Authority("theirs")
BROKER, USER = OURS.identity("broker", hosts=["kafka.example"]), THEIRS.identity("user")


def settings(**changes: object) -> TlsSettings:
    usual = {
        "keystore_key": BROKER.key_pem(),
        "keystore_certificate_chain": BROKER.certificate_pem,
        "truststore_certificates": OURS.pem,
    }
    return TlsSettings(**{**usual, **changes})  # type: ignore[arg-type]


def test_which_handshakes_succeed() -> None:
    server = server_context(settings())
    assert handshake_problem(server, client_context(settings()), "kafka.example") == ""
    assert "elsewhere.example" in handshake_problem(server, client_context(settings()), "elsewhere.example")
    unchecked = settings(endpoint_identification_algorithm="")
    assert handshake_problem(server, client_context(unchecked)) == ""
    assert handshake_problem(server, client_context(unchecked), "elsewhere.example") == ""
    untrusting = client_context(settings(truststore_certificates=THEIRS.pem))
    assert "certificate" in handshake_problem(server, untrusting, "kafka.example")


def test_client_certificates_count() -> None:
    server = server_context(settings(client_auth="required"))
    user = settings(keystore_key=USER.key_pem(), keystore_certificate_chain=USER.certificate_pem)
    assert handshake_problem(server, client_context(settings()), "kafka.example") == ""
    assert handshake_problem(server, client_context(user), "kafka.example") != ""


def test_versions_that_do_not_meet() -> None:
    server = server_context(settings(enabled_protocols=("TLSv1.2",)))
    client = client_context(settings(enabled_protocols=("TLSv1.3",)))
    assert handshake_problem(server, client, "kafka.example") != ""
