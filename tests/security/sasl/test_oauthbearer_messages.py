from __future__ import annotations

import time

import pytest

from signalbox.security.sasl.mechanism import SaslError
from signalbox.security.sasl.oauthbearer_messages import InitialResponse, parse_initial_response


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        (b"n,,\x01auth=Bearer a.b.c\x01\x01", InitialResponse("a.b.c")),
        (b"n,,\x01auth=bearer   a-b_c\x01\x01", InitialResponse("a-b_c")),
        (b"n,a=alice,\x01auth=Bearer t\x01\x01", InitialResponse("t", "alice")),
        (b"n,a=a=2Cb=3Dc,\x01auth=Bearer t\x01\x01", InitialResponse("t", "a,b=c")),
        (b"n,,\x01tenant=acme\x01auth=Bearer t\x01key=a=b \t\x01\x01",
         InitialResponse("t", "", {"tenant": "acme", "key": "a=b \t"})),
    ],
)  # fmt: skip
def test_initial_responses_of_clients(message: bytes, meaning: InitialResponse) -> None:
    assert parse_initial_response(message) == meaning


def test_there_and_back() -> None:
    message = InitialResponse("a.b.c", "x=,y", {"one": "1", "two": "2"})
    assert parse_initial_response(message.encode()) == message
    assert "a.b.c" not in repr(message)
    for extensions in ({"auth": "x"}, {"a1": "x"}, {"": "x"}, {"a": ""}, {"a": "\x01"}, {"a": "é"}):
        with pytest.raises(ValueError, match="SASL extension"):
            InitialResponse("t", "", extensions).encode()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"\xff",
        b"n,,",
        b"n,,\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer t",
        b"n,,\x01auth=Bearer t\x01",
        b"y,,\x01auth=Bearer t\x01\x01",
        b"p=tls-unique,,\x01auth=Bearer t\x01\x01",
        b"n,alice,\x01auth=Bearer t\x01\x01",
        b"n,a=,\x01auth=Bearer t\x01\x01",
        b"n,a=a=2Xb,\x01auth=Bearer t\x01\x01",
        b"n,,\x01auth=Basic t\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer t/t\x01\x01",
        b"n,,\x01auth=Bearer t\x01auth=Bearer u\x01\x01",
        b"n,,\x01auth=Bearer t\x01k3y=v\x01\x01",
        b"n,,\x01auth=Bearer t\x01key\x01\x01",
        b"n,,\x01auth=Bearer t\x01key=\x01\x01",
        b"n,,\x01key=v\x01\x01",
    ],
)
def test_what_is_no_message(message: bytes) -> None:
    with pytest.raises(SaslError, match="Invalid OAUTHBEARER client first message"):
        parse_initial_response(message)


def test_long_garbage_takes_no_longer_than_its_length() -> None:
    started = time.perf_counter()
    for message in (
        b"n,a=" + b"=2C" * 100_000 + b"=",
        b"n,,\x01" + b"a=b\x01" * 100_000,
        b"n,,\x01auth=Bearer " + b" " * 400_000,
    ):
        with pytest.raises(SaslError):
            parse_initial_response(message)
    assert time.perf_counter() - started < 30
