from __future__ import annotations

import base64
import json

import pytest

from signalbox.security.oauth.login_token import (
    LoginToken,
    RefreshWindow,
    TokenUnavailable,
    client_credentials_request,
    read_endpoint_answer,
    read_login_token,
)
from tests.security.issuer import Issuer, forged

JWT = Issuer("ES256").token(exp=5)


def test_a_token_with_its_end() -> None:
    assert read_login_token(f" {JWT}\n") == LoginToken(JWT, 5000)
    assert JWT not in repr(read_login_token(JWT))
    assert read_endpoint_answer(json.dumps({"access_token": JWT, "expires_in": 9}).encode()).expires_at_ms == 5000
    assert read_endpoint_answer(json.dumps({"id_token": JWT}).encode()).text == JWT


@pytest.mark.parametrize(
    "text", ["", "opaque", "a.b.c", "a.W10.c", "a.b", forged({}, {}, b"x"), forged({}, {"exp": "soon"}, b"x")]
)
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(TokenUnavailable) as caught:
        read_login_token(text)
    assert len(text) < 8 or text not in str(caught.value)


@pytest.mark.parametrize("document", [b"", b"\xff", b"[]", b"{}", b'{"access_token": 5}', b"[" * 50_000])
def test_what_is_no_answer(document: bytes) -> None:
    with pytest.raises(TokenUnavailable, match="access_token"):
        read_endpoint_answer(document)


@pytest.mark.parametrize(("url_encoded", "credentials"), [(False, b"my id:pass+word"), (True, b"my+id:pass%2Bword")])
def test_a_request_for_a_token(url_encoded: bool, credentials: bytes) -> None:
    headers, body = client_credentials_request("my id", "pass+word", "read write", url_encoded=url_encoded)
    assert headers["Authorization"] == "Basic " + base64.b64encode(credentials).decode()
    assert body == b"grant_type=client_credentials&scope=read+write"
    assert client_credentials_request("a", "b", "", url_encoded=False)[1] == b"grant_type=client_credentials"


@pytest.mark.parametrize(
    ("life_s", "chance", "kept_s"),
    [
        (3600, 0.0, 2880),
        (3600, 1.0, 3060),
        (10_000, 1.0, 8500),
        (1000, 0.0, 700),  # the buffer of 300 s is kept
        (370, 1.0, 70),
        (365, 0.0, 65),
        (360, 0.0, 60),  # the minimum period is kept
        (300, 0.0, 240),  # both cannot be kept: neither applies
        (10, 1.0, 8.5),
    ],
)
def test_when_the_next_one_is_due(life_s: float, chance: float, kept_s: float) -> None:
    assert RefreshWindow().seconds_until_refresh(life_s, chance) == pytest.approx(kept_s)
