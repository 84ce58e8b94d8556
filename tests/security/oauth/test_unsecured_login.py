from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.security.oauth.access_token import AccessToken
from signalbox.security.oauth.unsecured import UnsecuredOptionError, UnsecuredTokenValidator
from signalbox.security.oauth.unsecured_login import UnsecuredTokens

CLOCK = ManualClock()


def test_what_we_say_a_listener_for_such_tokens_takes() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginListClaim_scope": ",read,write",
        "unsecuredLoginListClaim_none": "",
        "unsecuredLoginNumberClaim_level": "7",
        "unsecuredLoginNumberClaim_exp": "1",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginScopeClaimName": "scope",
    }
    assert UnsecuredTokens.wanted(options)
    token = UnsecuredTokens(options, CLOCK).token()
    assert token.expires_at_ms == CLOCK.now_ms() + 60_000
    accepted = UnsecuredTokenValidator({"unsecuredValidatorRequiredScope": "read"}, CLOCK).validate(token.text)
    assert accepted == AccessToken("alice", CLOCK.now_ms() + 60_000, frozenset({"read", "write"}))


def test_another_claim_for_the_principal() -> None:
    options = {"unsecuredLoginStringClaim_user": "bob", "unsecuredLoginPrincipalClaimName": "user"}
    token = UnsecuredTokens(options, CLOCK).token()
    validator = UnsecuredTokenValidator({"unsecuredValidatorPrincipalClaimName": "user"}, CLOCK)
    assert validator.validate(token.text).principal_name == "bob"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "StringClaim_sub"),
        ({"unsecuredLoginStringClaim_user": "x"}, "StringClaim_sub"),
        ({"unsecuredLoginStringClaim_sub": "x", "unsecuredLoginLifetimeSeconds": "long"}, "LifetimeSeconds"),
        ({"unsecuredLoginStringClaim_sub": "x", "unsecuredLoginNumberClaim_n": "many"}, "NumberClaim_n"),
    ],
)
def test_options_that_are_wrong(options: dict[str, str], named: str) -> None:
    with pytest.raises(UnsecuredOptionError, match=named):
        UnsecuredTokens(options)


def test_without_its_options_no_token_is_made() -> None:
    assert not UnsecuredTokens.wanted({"clientId": "x"})
