"""What a broker answers itself and what it forwards are one answer to the client (F6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalAnswer, RawAnswer
from signalbox.broker.partial_forwarding import PartialForwarder, Split
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from tests.broker.asking import request_of

_Result = AlterConfigsResponse.AlterConfigsResourceResponse


def request(*names: str) -> ApiRequest:
    resources = [AlterConfigsRequest.AlterConfigsResource(resource_type=2, resource_name=name) for name in names]
    return request_of(AlterConfigsRequest(resources=resources), 2)


def results(*names: str) -> list[Any]:
    return [_Result(resource_type=2, resource_name=name) for name in names]


class Forwarder:
    """The controller says yes to whatever it is asked."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.answer: FinalAnswer | None = None

    async def forward(self, request: ApiRequest) -> FinalAnswer:
        self.frames.append(bytes(request.frame))
        if self.answer is not None:
            return self.answer
        answer = AlterConfigsResponse(responses=results(*(each.resource_name for each in request.body.resources)))
        header = request.header
        head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
        return RawAnswer(head + answer.encode(header.api_version))


async def keep_out_b(request: ApiRequest) -> Split | None:
    rest = [each for each in request.body.resources if each.resource_name != "b"]
    if len(rest) == len(request.body.resources):
        return None
    body = AlterConfigsRequest(resources=rest) if rest else None
    return Split(
        body, lambda answer: AlterConfigsResponse(responses=results("b") + (answer.responses if answer else []))
    )


def forwarded(asked: ApiRequest, answer: FinalAnswer | None = None) -> tuple[Any, list[bytes]]:
    behind = Forwarder()
    behind.answer = answer
    forwarder = PartialForwarder(behind)
    forwarder.install({int(ApiKey.ALTER_CONFIGS): keep_out_b})
    return asyncio.run(forwarder.forward(asked)), behind.frames


@pytest.mark.spec("F6")
def test_all_allowed_goes_untouched() -> None:
    asked = request("a", "c")
    answer, frames = forwarded(asked)
    assert frames == [bytes(asked.frame)]
    assert isinstance(answer, RawAnswer)


@pytest.mark.spec("F6")
def test_the_rest_is_forwarded_and_the_answers_are_merged() -> None:
    answer, [frame] = forwarded(request("a", "b", "c"))
    assert [each.resource_name for each in answer.responses] == ["b", "a", "c"]
    header, offset = decode_request_header(frame)
    assert (header.api_key, header.api_version) == (ApiKey.ALTER_CONFIGS, 2)
    assert [each.resource_name for each in AlterConfigsRequest.decode(frame, 2, offset).resources] == ["a", "c"]


@pytest.mark.spec("F6")
def test_nothing_is_forwarded_when_nothing_is_left() -> None:
    answer, frames = forwarded(request("b"))
    assert [each.resource_name for each in answer.responses] == ["b"]
    assert frames == []


def test_an_answer_made_here_is_merged_and_a_closed_connection_stays_one() -> None:
    timed_out = AlterConfigsResponse(responses=results("a"))
    assert len(forwarded(request("a", "b"), timed_out)[0].responses) == 2
    closed = CloseConnection("negotiate again")
    assert forwarded(request("a", "b"), closed)[0] is closed
