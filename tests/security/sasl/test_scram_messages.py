from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS, SaslError
from signalbox.security.sasl.scram_messages import (
    Salts,
    escape_name,
    parse_client_final,
    parse_client_first,
    parse_server_final,
    parse_server_first,
    random_salt,
    unescape_name,
)


def test_the_first_message_with_kafkas_extension() -> None:
    first = parse_client_first(b"n,a=id=2Cx,n=us=3Der,r=nonce,tokenauth=true,other=1")
    assert (first.gs2_header, first.authorization_id, first.user, first.nonce) == (
        "n,a=id=2Cx,",
        "id,x",
        "us=er",
        "nonce",
    )
    assert first.bare == "n=us=3Der,r=nonce,tokenauth=true,other=1"
    assert first.extensions == {"tokenauth": "true", "other": "1"}


@pytest.mark.parametrize(
    "token",
    [b"", b"y,,n=u,r=x", b"p=tls-unique,,n=u,r=x", b"n,,r=x,n=u", b"n,,n=u", b"n,,n=u,r=", b"n,,n=a=2,r=x", b"\xff"],
)
def test_first_messages_that_are_none(token: bytes) -> None:
    with pytest.raises(SaslError):
        parse_client_first(token)


def test_the_other_messages() -> None:
    assert parse_server_first(b"r=abc,s=c2FsdA==,i=4096").salt == b"salt"
    assert parse_client_final(b"c=biws,r=abc,p=cHJvb2Y=").proof == b"proof"
    assert parse_server_final(b"v=dmVyaWZpZXI=") == b"verifier"


@pytest.mark.parametrize("token", [b"e=other-error", b"v=!!", b"v=A", b""])
def test_final_messages_of_a_server_that_rejects(token: bytes) -> None:
    with pytest.raises(SaslError):
        parse_server_final(token)


@pytest.mark.parametrize(
    "token", [b"r=a,s=c2FsdA==", b"r=a,s=c2FsdA==,i=99999999", b"r=a,s=A,i=4096", b"m=x,r=a,s=,i=1"]
)
def test_server_first_messages_that_are_none(token: bytes) -> None:
    with pytest.raises(SaslError):
        parse_server_first(token)


@given(st.text())
def test_names_survive_escaping(name: str) -> None:
    escaped = escape_name(name)
    assert "," not in escaped
    assert unescape_name(escaped) == name


# The form of java.math.BigInteger(130, random).toString(36); one in sixty million is different.
KAFKAS = re.compile(rb"[1-9a-z][0-9a-z]{20,25}")


def test_random_ones_have_kafkas_form() -> None:
    salts = [random_salt() for _ in range(500)]
    assert all(KAFKAS.fullmatch(salt) for salt in salts)
    assert len(set(salts)) == 500
    assert {len(salt) for salt in salts} >= {25, 26}


def test_a_salt_is_a_names_and_a_mechanisms() -> None:
    one, other = Salts(), Salts()
    assert one.of("SCRAM-SHA-256", "alice") != other.of("SCRAM-SHA-256", "alice"), "each process has its own"
    for salts in (one, other):
        salts.use(b"the cluster's secret")
    named = [(mechanism, name) for mechanism in SCRAM_MECHANISMS for name in ("alice", "bob", "", "ü")]
    made = [one.of(*each) for each in named]
    assert made == [other.of(*each) for each in named]
    assert len(set(made)) == len(named)
    assert all(KAFKAS.fullmatch(salt) for salt in made)


def test_made_and_random_ones_are_as_long() -> None:
    """Three of five have 25 digits, two have 26: the length must not show which kind a salt is."""
    salts = Salts()
    random = [random_salt() for _ in range(2_000)]
    made = [salts.of("SCRAM-SHA-256", f"user-{number}") for number in range(2_000)]
    for lengths in ([len(salt) for salt in of_a_kind] for of_a_kind in (random, made)):
        assert 0.5 < lengths.count(25) / 2_000 < 0.7
        assert 0.3 < lengths.count(26) / 2_000 < 0.5


def test_a_new_secret_counts_from_then_on() -> None:
    salts = Salts()
    salts.use(b"old")
    before = salts.of("SCRAM-SHA-256", "alice")
    salts.use(b"new")
    assert salts.of("SCRAM-SHA-256", "alice") != before
    assert "new" not in repr(salts)
