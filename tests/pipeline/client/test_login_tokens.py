"""The callback for access tokens is made from its description."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from signalbox.pipeline.client.login_tokens import TOKEN_SOURCE, with_token_callback
from signalbox.security.oauth.login_token import TokenUnavailable
from signalbox.security.oauth.unsecured_login import UnsecuredTokens

ALICE = {"unsecuredLoginStringClaim_sub": "alice"}


def test_settings_without_a_source_of_tokens_stay_as_they_are() -> None:
    assert with_token_callback({"client.id": "a"}) == {"client.id": "a"}


@pytest.mark.spec("P9")
def test_a_file_is_read_at_each_call(tmp_path: Path) -> None:
    path = tmp_path / "a token"
    path.write_text(UnsecuredTokens({**ALICE, "unsecuredLoginLifetimeSeconds": "60"}).token().text)
    callback = with_token_callback({TOKEN_SOURCE: json.dumps({"file": path.as_uri()})})["oauth_cb"]
    renewed = UnsecuredTokens({**ALICE, "unsecuredLoginLifetimeSeconds": "6000"}).token()
    path.write_text(renewed.text + "\n")
    assert callback("") == (renewed.text, pytest.approx(renewed.expires_at_ms / 1000, abs=1))


def test_options_of_the_login_module_make_tokens() -> None:
    callback = with_token_callback({TOKEN_SOURCE: json.dumps({"unsecured": ALICE})})["oauth_cb"]
    text, expiry_seconds = callback("")
    assert text.endswith(".")
    assert expiry_seconds > time.time()


def test_a_bad_file_fails_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(FileNotFoundError):
        with_token_callback({TOKEN_SOURCE: json.dumps({"file": path.as_uri()})})
    path.write_text("no token")
    with pytest.raises(TokenUnavailable, match="is not a JWT"):
        with_token_callback({TOKEN_SOURCE: json.dumps({"file": path.as_uri()})})
