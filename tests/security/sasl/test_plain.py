from __future__ import annotations

import pytest

from signalbox.security.sasl.mechanism import SaslError
from signalbox.security.sasl.plain import ListedPasswords, PlainClientExchange, PlainMechanism

MECHANISM = PlainMechanism(ListedPasswords({"alice": "päss", "empty": ""}))


def test_the_right_password() -> None:
    server, client = MECHANISM.begin(), PlainClientExchange("alice", "päss", "alice")
    assert server.respond(client.first()) == b""
    assert server.complete
    assert server.authorization_id == "alice"
    assert client.respond(b"") is None
    assert client.complete
    assert MECHANISM.name == "PLAIN"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\0alice\0wrong", "Invalid username or password"),
        (b"\0unknown\0wrong", "Invalid username or password"),
        (b"\0unknown\0\0", "expected 3 tokens, got 4"),
        (b"\0empty\0", "password not specified"),
        (b"\0\0x", "username not specified"),
        (b"bob\0alice\0p\xc3\xa4ss", "different from username"),
        (b"alice", "expected 3 tokens, got 1"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\0alice\0" + bytes(70_000), "too long"),
    ],
)
def test_everything_else(token: bytes, message: str) -> None:
    server = MECHANISM.begin()
    with pytest.raises(SaslError, match=message):
        server.respond(token)
    assert not server.complete
    assert server.authorization_id == ""


def test_a_server_that_challenges_plain() -> None:
    with pytest.raises(SaslError):
        PlainClientExchange("a", "b").respond(b"why?")
