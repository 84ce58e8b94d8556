"""What a token's holder shows is the HMAC in base64; credentials are derived ahead and forgotten with the token."""

from __future__ import annotations

import base64
import threading

import pytest

from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.scram_messages import SCRAM_MECHANISMS, make_credential
from signalbox.security.sasl.token_credentials import TokenCredentials

SECRET = TokenSecret("the secret")


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_the_password_is_the_hmac(mechanism: str) -> None:
    credentials = TokenCredentials(SECRET)
    made = credentials.credential(mechanism, "t")
    password = base64.b64encode(SECRET.hmac("t")).decode()
    assert made == make_credential(mechanism, password, made.salt)
    assert credentials.credential(mechanism, "t") is made
    credentials.close()


def test_they_are_derived_ahead_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials, derived = TokenCredentials(SECRET), threading.Semaphore(0)
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
    after = credentials.credential(SCRAM_MECHANISMS[0], "t")
    assert after != before[0], "a token of the same id would be another"
    credentials.close()
