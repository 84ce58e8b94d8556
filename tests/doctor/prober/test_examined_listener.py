from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from signalbox.client.connection.node import Address
from signalbox.client.failures import ConfigRejected
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits

pytestmark = pytest.mark.spec("R8")

_PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="hush-hush";'
_SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="hush-hush";'


def test_a_bootstrap_entry_without_properties() -> None:
    listener = ExaminedListener.of("a:1,[::1]:2", {"bootstrap.servers": "ignored:9"}, Limits(timeout_ms=700))
    assert listener.seeds == (Address("a", 1), Address("::1", 2))
    assert (listener.settings.connect_timeout_ms, listener.settings.request_timeout_ms) == (700, 700)
    assert (listener.protocol, listener.mechanism, listener.hides_secret) == ("PLAINTEXT", "", True)
    assert not listener.uses_tls
    assert listener.certificates is None


def test_a_password_on_the_wire_and_one_that_is_not() -> None:
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": _PLAIN}
    plain = ExaminedListener.of("a:1", properties, Limits())
    assert (plain.mechanism, plain.hides_secret, plain.uses_tls, plain.uses_sasl) == ("PLAIN", False, True, True)
    assert plain.certificates is not None
    assert "hush" not in plain.cleaner.clean("it was hush-hush")
    scram = {**properties, "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": _SCRAM}
    assert ExaminedListener.of("a:1", scram, Limits()).hides_secret


def test_a_token_is_a_secret_once_it_was_sent(tmp_path: Path) -> None:
    claims = base64.urlsafe_b64encode(b'{"sub":"alice","exp":4102444800}').decode().rstrip("=")
    token = f"aGVhZA.{claims}.c2lnbmF0dXJl"
    location = tmp_path / "token"
    location.write_text(token)
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.oauthbearer.token.endpoint.url": location.as_uri(),
    }
    listener = ExaminedListener.of("a:1", properties, Limits())
    login = listener.settings.security.sasl
    assert login is not None
    assert login.ready is not None
    assert not listener.hides_secret
    ready = login.ready

    async def fetched() -> None:
        await ready()

    asyncio.run(fetched())
    assert token.encode() in login.begin().first()
    assert listener.cleaner.clean(f"rejected: {token}") == "rejected: [hidden]"


def test_faults_in_the_properties() -> None:
    with pytest.raises(ConfigRejected, match=r"security\.protocol"):
        ExaminedListener.of("a:1", {"security.protocol": "TLS"}, Limits())
    with pytest.raises(ConfigRejected, match="is not host:port"):
        ExaminedListener.of("a", {}, Limits())
