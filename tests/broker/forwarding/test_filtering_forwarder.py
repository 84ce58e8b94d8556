"""The results that a broker returns itself and those of the controller are combined in one response (F6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalResponse, RawResponse
from signalbox.broker.authorization.cluster_rights import CLUSTER_RIGHTS
from signalbox.broker.error_responses import error_response
from signalbox.broker.forwarding.filtering_forwarder import Filter, FilteringForwarder, forwarding_filters
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Rejected
from signalbox.broker.routes import ROUTES, Disposition
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from tests.broker.handler_requests import acl, request_of
from tests.common.scheduling.schedulers import ImmediateScheduler

_Result = AlterConfigsResponse.AlterConfigsResourceResponse


def request(*names: str) -> ApiRequest:
    resources = [AlterConfigsRequest.AlterConfigsResource(resource_type=2, resource_name=name) for name in names]
    return request_of(AlterConfigsRequest(resources=resources), 2)


def raw(asked: ApiRequest, response: Any) -> RawResponse:
    header = asked.header
    head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
    return RawResponse(head + response.encode(header.api_version))


class Forwarder:
    """A controller that accepts every request and throttles the client."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.answer: FinalResponse | None = None

    async def forward(self, request: ApiRequest) -> FinalResponse:
        self.frames.append(bytes(request.frame))
        if self.answer is not None:
            return self.answer
        names = [each.resource_name for each in request.body.resources]
        answers = [_Result(resource_type=2, resource_name=name) for name in names]
        return raw(request, AlterConfigsResponse(responses=answers, throttle_time_ms=70))


def reject_b(request: ApiRequest) -> Rejected:
    names = [each.resource_name for each in request.body.resources]
    return {(2, "b"): _Result(resource_type=2, resource_name="b", error_code=29)} if "b" in names else {}


class NoScheduler(ImmediateScheduler):
    """A scheduler that must not be used: a request that is not split needs no cooperative task."""

    def result_of(self, work: Callable[[], Any]) -> NoReturn:
        raise AssertionError


class AllowingFilter:
    def rejected(self, request: ApiRequest) -> Rejected:
        return {}

    def __call__(self, request: ApiRequest) -> FinalResponse:
        raise AssertionError("not on the controller")


def filters(*entries: tuple[str, str, str]) -> dict[int, Filter]:
    routed = (row.api_key for row in ROUTES if row.disposition is Disposition.CONTROLLER)
    return forwarding_filters(acl(*entries), {key: AllowingFilter() for key in routed if key not in CLUSTER_RIGHTS})


async def reject_b_later(request: ApiRequest) -> Rejected:
    return reject_b(request)


def forwarded(
    asked: ApiRequest, response: FinalResponse | None = None, request_filter: Any = reject_b
) -> tuple[Any, list[bytes]]:
    async def scenario() -> Any:
        forwarder = FilteringForwarder(behind, TaskScheduler(asyncio.get_running_loop()))
        forwarder.install({int(ApiKey.ALTER_CONFIGS): request_filter})
        return await forwarder.forward(asked)

    behind = Forwarder()
    behind.answer = response
    return asyncio.run(scenario()), behind.frames


@pytest.mark.spec("F6")
@pytest.mark.parametrize("request_filter", [reject_b, reject_b_later])
def test_a_request_with_no_rejected_resource_is_forwarded_unchanged(request_filter: Any) -> None:
    asked = request("a", "c")
    asked.frame = bytes(asked.frame) + b"which no decoder looks at"
    response, frames = forwarded(asked, request_filter=request_filter)
    assert frames == [asked.frame]
    assert isinstance(response, RawResponse)
    assert asked.was_forwarded


@pytest.mark.spec("F6")
@pytest.mark.parametrize("request_filter", [reject_b, reject_b_later])
def test_the_remaining_request_is_forwarded_and_the_responses_are_combined(request_filter: Any) -> None:
    asked = request("c", "b", "a")
    response, [frame] = forwarded(asked, request_filter=request_filter)
    assert [(each.resource_name, each.error_code) for each in response.responses] == [("c", 0), ("b", 29), ("a", 0)]
    assert response.throttle_time_ms == 70
    header, offset = decode_request_header(frame)
    assert header == asked.header
    assert [each.resource_name for each in AlterConfigsRequest.decode(frame, 2, offset).resources] == ["c", "a"]
    assert asked.was_forwarded


def test_many_are_taken_apart_and_put_together_in_slices() -> None:
    async def scenario() -> tuple[Any, int]:
        scheduler = TaskScheduler(asyncio.get_running_loop())
        forwarder = FilteringForwarder(behind, scheduler)
        forwarder.install({int(ApiKey.ALTER_CONFIGS): reject_b})
        return await forwarder.forward(request(*names)), scheduler.slices

    behind, names = Forwarder(), ["b", *(f"r-{number}" for number in range(5_000))]
    response, slices = asyncio.run(scenario())
    assert [each.resource_name for each in response.responses] == names
    assert slices > 20


def test_an_answer_that_is_none_fails_this_request_alone() -> None:
    with pytest.raises(DecodeError):
        forwarded(request("a", "b"), RawResponse(b"\0\0\0\7\0\xff"))


@pytest.mark.spec("F6")
def test_nothing_is_forwarded_when_nothing_is_left() -> None:
    asked = request("b")
    response, frames = forwarded(asked)
    assert [each.resource_name for each in response.responses] == ["b"]
    assert frames == []
    assert not asked.was_forwarded


def test_the_clients_header_travels_as_it_is_with_its_unknown_tags() -> None:
    asked = request("a", "b")
    _, offset = decode_request_header(asked.frame)
    head = bytes(asked.frame)[: offset - 1] + b"\x01\x7f\x02hi"  # one tagged field, number 127
    asked.frame = head + bytes(asked.frame)[offset:]
    assert forwarded(asked)[1][0].startswith(head)


def test_a_local_error_is_combined_and_a_closed_connection_is_returned() -> None:
    late = error_response(request("a"), Error.REQUEST_TIMED_OUT)
    response, _ = forwarded(request("a", "b"), late)
    assert [each.error_code for each in response.responses] == [Error.REQUEST_TIMED_OUT, 29]
    closed = CloseConnection("negotiate again")
    assert forwarded(request("a", "b"), closed)[0] is closed


@pytest.mark.spec("F6")
def test_without_the_cluster_right_nothing_is_forwarded() -> None:
    behind = Forwarder()
    forwarder = FilteringForwarder(behind, NoScheduler())
    forwarder.install(filters(("alice", "DESCRIBE", "cluster")))
    with pytest.raises(KafkaError) as rejected:
        forwarder.forward(request_of(ElectLeadersRequest(), 2))
    assert rejected.value.error is Error.CLUSTER_AUTHORIZATION_FAILED
    assert behind.frames == []


@pytest.mark.spec("F6")
def test_with_the_right_the_request_is_forwarded_unchanged() -> None:
    async def scenario() -> Any:
        return await forwarder.forward(asked)

    behind, asked = Forwarder(), request_of(ElectLeadersRequest(), 2)
    behind.answer = raw(asked, ElectLeadersResponse())
    forwarder = FilteringForwarder(behind, NoScheduler())
    forwarder.install(filters(("alice", "ALTER", "cluster")))
    assert asyncio.run(scenario()) is behind.answer
    assert behind.frames == [bytes(asked.frame)]


def test_a_response_of_the_filter_is_the_complete_response() -> None:
    own = AlterConfigsResponse(throttle_time_ms=1)
    response, frames = forwarded(request("a"), request_filter=lambda request: own)
    assert response is own
    assert frames == []


@pytest.mark.spec("F2", "F6")
def test_every_forwarded_api_has_an_authorization_filter() -> None:
    assert not CLUSTER_RIGHTS.keys() & RESOURCE_REQUESTS.keys()
    assert all(API_TABLE[key].forwardable for key in filters())
    with pytest.raises(ValueError, match="without an authorization filter: CREATE_TOPICS, DELETE_TOPICS"):
        forwarding_filters(acl(), {})
