"""The stored payload of a delegation token: encoded and decoded as in Kafka."""

from __future__ import annotations

import json

import pytest

from signalbox.metadata.entries.delegation_token import decode_token, decode_token_change, encode_token
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.principal import KafkaPrincipal

PATH = "/delegation_token/tokens/id"
ALICE, BOB, CN = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "b o*b"), KafkaPrincipal("User", "CN=c,O=x:y")
TOKEN = DelegationToken("id", ALICE, BOB, (CN, BOB), issue_ms=1, expiry_ms=2, max_ms=3)
# What Kafka 3.9 stores (DelegationTokenManagerZk.toJsonCompatibleMap): principals percent-encoded, colon included.
STORED = {
    "version": 3,
    "owner": "User%3Aalice",
    "tokenRequester": "User%3Ab%20o%2Ab",
    "renewers": ["User%3ACN%3Dc%2CO%3Dx%3Ay", "User%3Ab%20o%2Ab"],
    "issueTimestamp": 1,
    "maxTimestamp": 3,
    "expiryTimestamp": 2,
    "tokenId": "id",
}


@pytest.mark.spec("M2")
def test_it_is_kafkas_payload() -> None:
    assert json.loads(encode_token(TOKEN)) == STORED
    assert decode_token(PATH, json.dumps(STORED).encode()) == TOKEN
    assert b"hmac" not in encode_token(TOKEN).lower()


@pytest.mark.parametrize("version", [1, 2])
def test_before_version_3_the_owner_was_who_asked(version: int) -> None:
    stored = {key: value for key, value in STORED.items() if key != "tokenRequester"} | {"version": version}
    assert decode_token(PATH, json.dumps(stored).encode()).requester == ALICE


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 4},
        {"version": 0},
        {"owner": "alice"},
        {"renewers": None},
        {"issueTimestamp": "soon"},
        {"tokenId": "another"},
        {"tokenRequester": 5},
    ],
)
def test_the_error_of_a_corrupt_token_names_its_entry(wrong: dict[str, object]) -> None:
    with pytest.raises(BadEntry, match=PATH):
        decode_token(PATH, json.dumps({**STORED, **wrong}).encode())


@pytest.mark.parametrize("data", [None, b"", b"[]", b"{}"])
def test_neither_is_anything_else(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match=PATH):
        decode_token(PATH, data)


def test_the_notification_is_the_id() -> None:
    assert decode_token_change("/p", b"id-_") == "id-_"
    for data in (None, b"", b"\xff", b"a/b"):
        with pytest.raises(BadEntry, match="/p"):
            decode_token_change("/p", data)
