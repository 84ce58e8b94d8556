"""All errors in TLS settings, reported at once."""

from __future__ import annotations

from functools import partial

import pytest

from signalbox.security.tls.collect_errors import collect_errors
from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.listener_tls import listener_tls
from signalbox.security.tls.settings import TlsSettings
from tests.security.certificates import Authority

AUTHORITY, OTHER_AUTHORITY = Authority(), Authority()
BROKER = AUTHORITY.identity("broker")
GOOD = {
    "keystore_key": BROKER.key_pem(),
    "keystore_certificate_chain": BROKER.certificate_pem,
    "truststore_certificates": AUTHORITY.pem,
}


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({}, set()),
        ({"client_auth": "often"}, {"ssl.client.auth"}),
        (
            {"client_auth": "often", "enabled_protocols": ("SSLv3",), "truststore_certificates": "none"},
            {"ssl.client.auth", "ssl.truststore.certificates", "ssl.enabled.protocols"},
        ),
        (
            {"keystore_key": "none", "truststore_location": "/no/such", "truststore_certificates": "", "protocol": "X"},
            {"ssl.protocol", "ssl.keystore.key", "ssl.truststore.location"},
        ),
        (
            {"cipher_suites": ("NONE",), "keystore_key": "", "keystore_certificate_chain": ""},
            {"ssl.cipher.suites", "ssl.keystore.location"},
        ),
    ],
)
def test_a_listeners(changes: dict[str, object], keys: set[str]) -> None:
    settings = TlsSettings(**{**GOOD, **changes})  # type: ignore[arg-type]
    assert {error.key for error in collect_errors(settings, server_context)} == keys


def test_a_truststore_that_does_not_know_the_keystore_is_one_error() -> None:
    settings = TlsSettings(**{**GOOD, "truststore_certificates": OTHER_AUTHORITY.pem})  # type: ignore[arg-type]
    errors = collect_errors(settings, partial(listener_tls, inter_node=True))
    assert [error.key for error in errors] == ["ssl.truststore.location"]


def test_a_clients() -> None:
    settings = TlsSettings(endpoint_identification_algorithm="htps", truststore_location="/no/such", protocol="X")
    assert [error.key for error in collect_errors(settings, client_context)] == [
        "ssl.endpoint.identification.algorithm",
        "ssl.protocol",
        "ssl.truststore.location",
    ]
