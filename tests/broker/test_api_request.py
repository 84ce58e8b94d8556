"""A request carries what forwarding needs, and the principal that forwarded it."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.broker.api_request import (
    NO_RESPONSE,
    ApiRequest,
    CloseConnection,
    EncodedBody,
    FinalResponse,
    NoResponse,
    RawResponse,
    as_future,
    settled,
)
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import RequestHeader
from signalbox.protocol.messages.metadata import MetadataResponse
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


VERSION = 12


def test_the_same_bytes_for_everybody() -> None:
    message = MetadataResponse(brokers=[], cluster_id="c", controller_id=3, topics=[])
    body = EncodedBody(message.encode_chunks(VERSION))
    first, second = (b"".join(body.encode_chunks(VERSION)) for _ in range(2))
    assert first == second == b"".join(message.encode_chunks(VERSION))
    assert MetadataResponse.decode(first, VERSION).controller_id == 3


def test_the_error_code_of_an_encoded_body() -> None:
    assert EncodedBody([b""]).error_code == Error.NONE
    assert EncodedBody([b""], Error.INVALID_REQUEST).error_code == Error.INVALID_REQUEST


def test_a_response_that_comes_later_is_awaited_whatever_its_kind() -> None:
    async def later() -> FinalResponse:
        return NO_RESPONSE

    async def scenario() -> list[FinalResponse]:
        promise: Promise[FinalResponse] = Promise()
        asyncio.get_running_loop().call_soon(promise.complete, NO_RESPONSE)
        return [await settled(response) for response in (NO_RESPONSE, later(), promise)]

    assert asyncio.run(scenario()) == [NO_RESPONSE] * 3


def test_the_error_of_a_promise_is_raised_where_it_is_awaited() -> None:
    async def scenario() -> None:
        with pytest.raises(KafkaError, match="gone"):
            await as_future(Promise[int].failed(KafkaError(Error.NOT_COORDINATOR, "gone")))

    asyncio.run(scenario())


def test_a_cancelled_coroutine_does_not_disturb_the_promise() -> None:
    async def scenario() -> int:
        promise: Promise[int] = Promise()
        as_future(promise).cancel()
        promise.complete(3)
        return await as_future(promise)

    assert asyncio.run(scenario()) == 3
