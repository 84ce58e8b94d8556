from __future__ import annotations

import json

from signalbox.security.oauth.access_token import INSUFFICIENT_SCOPE, AccessToken, TokenRejected


def test_the_error_answer_is_kafkas_to_the_byte() -> None:
    assert TokenRejected("expired").as_json() == '{"status":"invalid_token"}'
    rejection = TokenRejected("x", INSUFFICIENT_SCOPE, 'a "b"', "https://issuer/.well-known/openid-configuration")
    assert json.loads(rejection.as_json()) == {
        "status": "insufficient_scope",
        "scope": 'a "b"',
        "openid-configuration": "https://issuer/.well-known/openid-configuration",
    }
    assert TokenRejected("x", INSUFFICIENT_SCOPE, "read").as_json() == '{"status":"insufficient_scope", "scope":"read"}'


def test_an_accepted_token_has_no_text_that_could_be_shown() -> None:
    assert repr(AccessToken("alice", 5)) == "AccessToken(principal_name='alice', expires_at_ms=5, scopes=frozenset())"
