"""The same properties for Java's client."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.client.java_settings import TOKEN_CALLBACK, java_settings

OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.mark.spec("P9")
def test_keys_stay_and_get_the_connectors_prefix() -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    asked = {"security.protocol": "SASL_SSL", "sasl.jaas.config": login, "max.poll.records": "5", "group.id": "g"}
    assert java_settings(asked) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": login,
        "kafka.max.poll.records": "5",
    }


@pytest.mark.parametrize(
    ("content", "kind"), [(b"-----BEGIN", "PEM"), (b"\x30\x82", "PKCS12"), (b"\xfe\xed", "JKS"), (b"\xce\xce", "JCEKS")]
)
def test_a_store_is_known_by_its_content(tmp_path: Path, content: bytes, kind: str) -> None:
    store = tmp_path / "store"
    store.write_bytes(content)
    settings = java_settings({"ssl.truststore.location": str(store), "ssl.keystore.key": "-----BEGIN"})
    assert settings["kafka.ssl.truststore.type"] == kind
    assert settings["kafka.ssl.keystore.type"] == "PEM"


def test_a_store_that_is_missing_is_left_to_the_client(tmp_path: Path) -> None:
    location = str(tmp_path / "none")
    assert java_settings({"ssl.keystore.location": location}) == {"kafka.ssl.keystore.location": location}


@pytest.mark.spec("P9")
def test_the_keys_of_newer_clients_become_options_of_the_login_module() -> None:
    settings = java_settings(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{OAUTH} required;",
            "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": 'a"b\\c',
            "sasl.oauthbearer.scope": "kafka",
        }
    )
    assert settings["kafka.sasl.login.callback.handler.class"] == TOKEN_CALLBACK
    assert (
        settings["kafka.sasl.jaas.config"] == f'{OAUTH} required clientId="me" clientSecret="a\\"b\\\\c" scope="kafka";'
    )
