"""A request carries what forwarding needs, and the principal that forwarded it."""

from __future__ import annotations

from signalbox.broker.api_request import NO_RESPONSE, ApiRequest, CloseConnection, NoResponse, RawResponse
from signalbox.protocol.headers import RequestHeader
from tests.broker.handler_requests import context


def test_a_request_comes_from_its_client_unless_a_broker_forwarded_it() -> None:
    header = RequestHeader(3, 12, 1, "c")
    assert ApiRequest(header, None, context(), b"f", 1.5).forwarded_by is None
    forwarded = ApiRequest(header, None, context(), b"f", 1.5, "User:broker")
    assert (forwarded.forwarded_by, forwarded.frame, forwarded.received_at) == ("User:broker", b"f", 1.5)


def test_the_answers_that_are_no_messages() -> None:
    assert isinstance(NO_RESPONSE, NoResponse)
    assert RawResponse(b"x").payload == b"x"
    assert CloseConnection("why").reason == "why"
