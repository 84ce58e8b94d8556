from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.security.sasl.mechanism import SaslError
from signalbox.security.sasl.scram_messages import (
    escape_name,
    parse_client_final,
    parse_client_first,
    parse_server_final,
    parse_server_first,
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
