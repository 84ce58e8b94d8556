"""The same properties for librdkafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from signalbox.pipeline.client.librdkafka_settings import ClientPropertyError, librdkafka_settings
from signalbox.pipeline.client.login_tokens import TOKEN_SOURCE
from tests.security.certificates import Authority

SECURITY = "org.apache.kafka.common.security"
PLAIN = f'{SECURITY}.plain.PlainLoginModule required username="alice" password="secret";'
OAUTH = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"


def accepted(settings: dict[str, str]) -> dict[str, str]:
    """The settings, after librdkafka has taken them."""
    AdminClient({key: value for key, value in settings.items() if key != TOKEN_SOURCE})
    return settings


@pytest.mark.spec("P9")
def test_names_are_translated_and_unknown_keys_left_out() -> None:
    asked = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.jaas.config": PLAIN,
        "request.timeout.ms": "7000",
        "fetch.max.wait.ms": "40",
        "partitioner.class": "org.example.Any",
        "bootstrap.servers": "x:1",
    }
    assert accepted(librdkafka_settings(asked)) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
        "socket.timeout.ms": "7000",
        "fetch.wait.max.ms": "40",
    }


@pytest.mark.spec("P9")
def test_stores_of_every_kind_become_what_librdkafka_reads(tmp_path: Path) -> None:
    authority = Authority()
    alice = authority.identity("alice")
    pem = alice.pem_file(tmp_path / "alice.pem", "key-secret")
    store = alice.pkcs12_file(tmp_path / "alice.p12", "store-secret", authority.certificate)
    by_file = accepted(
        librdkafka_settings(
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": pem,
                "ssl.key.password": "key-secret",
                "ssl.truststore.certificates": authority.pem,
                "ssl.endpoint.identification.algorithm": "",
            }
        )
    )
    assert (by_file["ssl.certificate.location"], by_file["ssl.key.location"]) == (pem, pem)
    assert by_file["ssl.key.password"] == "key-secret"
    assert by_file["ssl.ca.pem"] == authority.pem
    assert by_file["ssl.endpoint.identification.algorithm"] == "none"
    of_pkcs12 = accepted(
        librdkafka_settings(
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": store,
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.password": "store-secret",
                "ssl.truststore.location": store,
                "ssl.truststore.password": "store-secret",
            }
        )
    )
    assert alice.certificate_pem in of_pkcs12["ssl.certificate.pem"]
    assert "PRIVATE KEY" in of_pkcs12["ssl.key.pem"]
    assert authority.pem in of_pkcs12["ssl.ca.pem"]


@pytest.mark.spec("P9")
def test_tokens_come_from_an_endpoint_a_file_or_the_login_module() -> None:
    base = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    options = 'clientId="me" clientSecret="secret" scope="kafka"'
    endpoint = accepted(
        librdkafka_settings(
            {
                **base,
                "sasl.jaas.config": f"{OAUTH} {options};",
                "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
            }
        )
    )
    assert endpoint["sasl.oauthbearer.method"] == "oidc"
    assert (endpoint["sasl.oauthbearer.client.id"], endpoint["sasl.oauthbearer.scope"]) == ("me", "kafka")
    file = librdkafka_settings(
        {**base, "sasl.jaas.config": f"{OAUTH};", "sasl.oauthbearer.token.endpoint.url": "file:///run/token"}
    )
    assert json.loads(file[TOKEN_SOURCE]) == {"file": "file:///run/token"}
    unsecured = librdkafka_settings({**base, "sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="alice";'})
    assert json.loads(unsecured[TOKEN_SOURCE]) == {"unsecured": {"unsecuredLoginStringClaim_sub": "alice"}}


@pytest.mark.parametrize(
    ("properties", "fault"),
    [
        ({"security.protocol": "SSL", "ssl.truststore.location": "/nowhere.pem"}, "ssl.truststore.location: /nowhere"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "DIGEST-MD5"}, "sasl.mechanism is DIGEST-MD5"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH};"},
            "sasl.oauthbearer.token.endpoint.url is missing",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.jaas.config": PLAIN.replace(";", ' tokenauth="true";')},
            "cannot log in with a delegation token",
        ),
    ],
)
def test_properties_that_cannot_be_used_are_named(properties: dict[str, str], fault: str) -> None:
    with pytest.raises(ClientPropertyError, match=fault):
        librdkafka_settings(properties)
