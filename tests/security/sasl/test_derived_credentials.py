"""The password of a delegation token is its HMAC in base64; credentials are derived ahead and end with the token."""

from __future__ import annotations

import base64
import threading

import pytest

from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.derived_credentials import JaasScramCredentials, TokenCredentials
from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS, SaslError
from signalbox.security.sasl.scram import ScramClientExchange, ScramMechanism
from signalbox.security.sasl.scram_messages import Salts, make_credential
from tests.security.sasl.test_scram import Users

SECRET = TokenSecret("the secret")


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_the_password_is_the_hmac(mechanism: str) -> None:
    credentials = TokenCredentials(SECRET, Salts())
    made = credentials.credential(mechanism, "t")
    password = base64.b64encode(SECRET.hmac("t")).decode()
    assert made == make_credential(mechanism, password, made.salt)
    assert credentials.credential(mechanism, "t") is made
    credentials.close()


def test_a_token_has_the_salt_of_an_id_that_is_none() -> None:
    """Also when the cluster's secret became known after the first look-up."""
    salts = Salts()
    credentials = TokenCredentials(SECRET, salts)
    for _ in range(2):
        made = credentials.credential("SCRAM-SHA-256", "t")
        assert made.salt == salts.of("SCRAM-SHA-256", "t")
        assert made == make_credential("SCRAM-SHA-256", base64.b64encode(SECRET.hmac("t")).decode(), made.salt)
        salts.use(b"the cluster's secret")
    credentials.close()


def test_credentials_are_derived_ahead_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials, derived = TokenCredentials(SECRET, Salts()), threading.Semaphore(0)
    derive = credentials._derive
    threads = []

    def noted(mechanism: str, token_id: str) -> object:
        threads.append((threading.current_thread().name, mechanism, token_id))
        derived.release()
        return derive(mechanism, token_id)

    monkeypatch.setattr(credentials, "_derive", noted)
    credentials.derive_ahead("t")
    credentials.derive_ahead("t")
    for _ in SCRAM_MECHANISMS:
        assert derived.acquire(timeout=10)
    credentials._thread.submit(lambda: None).result(10)
    before = [credentials.credential(mechanism, "t") for mechanism in SCRAM_MECHANISMS]
    assert [each[1:] for each in threads] == [(mechanism, "t") for mechanism in SCRAM_MECHANISMS]
    assert all(name.startswith("delegation-tokens") for name, _, _ in threads)
    credentials.forget("t")
    credentials.forget("t")
    assert credentials.credential(SCRAM_MECHANISMS[0], "t") is not before[0], "nothing of it was kept"
    credentials.close()


def test_users_of_the_login_module_come_after_the_others() -> None:
    credentials = JaasScramCredentials("SCRAM-SHA-256", {"broker": "secret", "a,=b": "other"}, Users())
    mechanism = ScramMechanism("SCRAM-SHA-256", credentials)
    for user, password in (("broker", "secret"), ("a,=b", "pencil")):
        server, client = mechanism.begin(), ScramClientExchange("SCRAM-SHA-256", user, password)
        final = client.respond(server.respond(client.first()))
        assert final is not None
        server.respond(final)
        assert server.authorization_id == user
    server, client = mechanism.begin(), ScramClientExchange("SCRAM-SHA-256", "a,=b", "other")
    final = client.respond(server.respond(client.first()))
    assert final is not None
    with pytest.raises(SaslError):
        server.respond(final)
    assert credentials.token_login("SCRAM-SHA-256", "token-1") is not None
    assert credentials.scram_credential("SCRAM-SHA-256", "unknown") is None


def test_a_listed_user_has_the_salt_of_an_unknown_user() -> None:
    """On each node, and also with a cluster secret that became known after the start."""
    stored = Users()
    here, elsewhere = (JaasScramCredentials("SCRAM-SHA-512", users, stored) for users in ({"broker": "secret"}, {}))
    shown = [
        ScramMechanism("SCRAM-SHA-512", each).begin().respond(b"n,,n=broker,r=x").split(b",")[1:]
        for each in (here, elsewhere)
    ]
    assert shown[0] == shown[1]
    stored._salts.use(b"the cluster's secret")
    made = here.scram_credential("SCRAM-SHA-512", "broker")
    assert made is not None
    assert made == make_credential("SCRAM-SHA-512", "secret", stored.salt("SCRAM-SHA-512", "broker"))
    assert here.scram_credential("SCRAM-SHA-512", "broker") is made
