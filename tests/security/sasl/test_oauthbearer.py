from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.security.oauth.access_token import INSUFFICIENT_SCOPE, AccessToken, TokenRejected
from signalbox.security.sasl.mechanism import SaslError
from signalbox.security.sasl.oauthbearer import (
    OAuthBearerClientExchange,
    OAuthBearerMechanism,
    OAuthBearerServerExchange,
)


class Validator:
    """Accepts only the token `good`."""

    def validate(self, token: str) -> AccessToken:
        if token == "scopeless":
            raise TokenRejected("lacks read", INSUFFICIENT_SCOPE, "read")
        if token == "broken":
            raise RuntimeError(f"cannot look up {token}")
        if token != "good":
            raise TokenRejected("unknown")
        return AccessToken("alice", 7000)

    def rejected_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        if extensions.get("bad") == "raise":
            raise RuntimeError
        return {name: "not here" for name in extensions if name == "bad"}


def begin() -> OAuthBearerServerExchange:
    return OAuthBearerMechanism(Validator()).begin()


def client(
    token: str, extensions: Mapping[str, str] | None = None, authorization_id: str = ""
) -> OAuthBearerClientExchange:
    return OAuthBearerClientExchange(lambda: token, extensions or {}, authorization_id)


@pytest.mark.parametrize("authorization_id", ["", "alice"])
def test_a_good_token(authorization_id: str) -> None:
    server, ours = begin(), client("good", {"tenant": "acme"}, authorization_id)
    answer = server.respond(ours.first())
    assert answer == b""
    assert (server.complete, server.authorization_id, server.expires_at_ms) == (True, "alice", 7000)
    assert server.extensions == {"tenant": "acme"}
    assert ours.respond(answer) is None
    assert ours.complete


@pytest.mark.parametrize(
    ("token", "json", "reason"),
    [
        ("forged", '{"status":"invalid_token"}', "unknown"),
        ("scopeless", '{"status":"insufficient_scope", "scope":"read"}', "lacks read"),
    ],
)
def test_an_invalid_token_is_reported_and_acknowledged(token: str, json: str, reason: str) -> None:
    server, ours = begin(), client(token)
    answer = server.respond(ours.first())
    assert answer == json.encode()
    assert (server.complete, server.rejected) == (False, reason)
    acknowledged = ours.respond(answer)
    assert acknowledged == b"\x01"
    with pytest.raises(SaslError) as caught:
        server.respond(acknowledged)
    assert (str(caught.value), caught.value.reason) == (json, reason)
    assert not server.rejected


def test_one_exchange_allows_one_token() -> None:
    server = begin()
    server.respond(client("forged").first())
    with pytest.raises(SaslError, match="invalid credentials"):
        server.respond(client("good").first())
    assert not server.complete


def test_an_authorization_id_of_another_user() -> None:
    with pytest.raises(SaslError, match="authorization id that is different"):
        begin().respond(client("good", authorization_id="bob").first())


def test_extensions_that_are_not_taken() -> None:
    with pytest.raises(SaslError, match="1 extensions are invalid! They are: bad: not here"):
        begin().respond(client("good", {"bad": "x", "fine": "y"}).first())


def test_a_failing_validator_rejects_the_login_and_its_text_is_not_returned(caplog: pytest.LogCaptureFixture) -> None:
    for ours in (client("broken"), client("good", {"bad": "raise"})):
        with pytest.raises(SaslError, match="invalid credentials with SASL mechanism OAUTHBEARER") as caught:
            begin().respond(ours.first())
        assert caught.value.reason == "Validator failed with RuntimeError"
    assert "cannot look up" not in caplog.text


def test_a_server_that_goes_on_after_a_rejection() -> None:
    ours = client("good")
    ours.first()
    ours.respond(b'{"status":"invalid_token"}')
    with pytest.raises(SaslError, match="went on"):
        ours.respond(b"")
