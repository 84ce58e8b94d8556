"""DIGEST-MD5 by RFC 2831's own example, and responses of a server that the client rejects."""

from __future__ import annotations

import pytest

from signalbox.security.sasl.digest_md5 import DigestMd5Client, DigestRejected

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'
LAST_WORD = b"rspauth=ea40f60335c427b5527b84dbabcdfffd"


def client(username: str = "chris", password: str = "secret") -> DigestMd5Client:
    return DigestMd5Client(username, password, "imap/elwood.innosoft.com", lambda: "OA6MHXh6VqTrRk")


def test_the_example_of_the_rfc() -> None:
    login = client()
    response = login.respond(CHALLENGE).decode()
    assert "response=d388dad90d4bbd760a152321f2143af7" in response
    assert 'username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",cnonce="OA6MHXh6VqTrRk"' in response
    assert 'nc=00000001,qop=auth,digest-uri="imap/elwood.innosoft.com"' in response
    assert not login.complete
    assert login.respond(LAST_WORD) == b""
    assert login.complete


def test_error_texts_quote_names_and_contain_no_password() -> None:
    response = client('a"b\\c', "s3cret").respond(CHALLENGE).decode()
    assert 'username="a\\"b\\\\c"' in response
    assert "s3cret" not in response


@pytest.mark.parametrize(("one", "other"), [("ä", "Ã¤"), ("日", "æ\x97¥")])
def test_latin_1_where_it_can_be_and_else_utf_8(one: str, other: str) -> None:
    """The second of each pair is the UTF-8 encoding of the first, read as Latin-1."""
    responses = {client(password=password).respond(CHALLENGE) for password in (one, other)}
    assert len(responses) == (2 if one == "ä" else 1)


@pytest.mark.parametrize(
    ("challenge", "gist"),
    [
        (b"", "none of DIGEST-MD5"),
        (b'nonce="x",algorithm=md5', "none of DIGEST-MD5"),
        (b'nonce="x",algorithm=md5-sess,qop="auth-conf"', "does not offer qop auth"),
        (b'nonce="x', "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_challenge_that_is_none(challenge: bytes, gist: str) -> None:
    with pytest.raises(DigestRejected, match=gist):
        client().respond(challenge)


@pytest.mark.parametrize("word", [b"rspauth=00000000000000000000000000000000", b"rspauth=", b"x=y", b""])
def test_a_server_that_does_not_know_the_password(word: bytes) -> None:
    login = client()
    login.respond(CHALLENGE)
    with pytest.raises(DigestRejected, match="could not prove"):
        login.respond(word)
    assert not login.complete
