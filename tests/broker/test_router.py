"""Every request ends exactly once, whatever its handler does: with a response, without one, or with a close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from signalbox.broker.api_request import NO_RESPONSE, ApiRequest, CloseConnection, RawResponse
from signalbox.broker.quotas.throttling import NO_THROTTLING
from signalbox.broker.router import Router
from signalbox.broker.routes import ROUTES, Route
from signalbox.common.clock import ManualClock
from signalbox.network.inbound_request import InboundRequest
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.replication.waiting.promise import Promise
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import context
from tests.common.scheduling.schedulers import ImmediateScheduler

ROWS = {row.api_key: row for row in ROUTES}


class Inbound:
    """A request as the network layer passes it; records how it ended."""

    received_at = 0.0

    def __init__(self, header: RequestHeader, body: bytes) -> None:
        self.header = header
        head = encode_request_header(*header)
        self.frame = head + body
        self.body_offset = len(head)
        self.context: RequestContext = context()
        self.ends: list[Any] = []

    def respond(self, chunks: list[Any]) -> None:
        self.ends.append(b"".join(map(bytes, chunks)))

    def respond_nothing(self) -> None:
        self.ends.append(None)

    def reject(self, reason: str) -> None:
        self.ends.append(CloseConnection(reason))

    def close_connection(self, reason: str) -> None:
        self.ends.append(CloseConnection(reason))

    @property
    def answer(self) -> Any:
        """The only response, as the client decodes it."""
        [payload] = self.ends
        key, version = self.header.api_key, self.header.api_version
        correlation_id, offset = decode_response_header(payload, key, version)
        assert correlation_id == self.header.correlation_id
        return API_TABLE[key].response.decode(payload, version, offset)

    @property
    def closed_for(self) -> str:
        [end] = self.ends
        assert isinstance(end, CloseConnection)
        return end.reason


class Controller:
    is_active = True

    async def handle(self, api_key: int, request: Any, context: Any) -> Any:
        return CreateTopicsResponse()


class Forwarder:
    def __init__(self) -> None:
        self.forwarded: list[ApiRequest] = []

    async def forward(self, request: ApiRequest) -> Any:
        self.forwarded.append(request)
        return RawResponse(b"raw")


class Observer:
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def observe(self, request: ApiRequest, row: Any, response: Any, response_bytes: int, duration_s: float) -> None:
        self.seen.append((row.api_key.name, response_bytes))


class RunningBroker:
    """A router with one handler for everything."""

    def __init__(self, handler: Callable[[ApiRequest], Any]) -> None:
        self.controller, self.forwarder, self.observer = Controller(), Forwarder(), Observer()
        self.router = Router(self.controller, self.forwarder, self.observer, ManualClock(), ImmediateScheduler())
        self.router.install({int(key): Route(row, handler) for key, row in ROWS.items()}, NO_THROTTLING)

    def submit(self, inbound: Inbound) -> Inbound:
        self.router.submit(cast(InboundRequest, inbound))
        return inbound


def heartbeat(version: int = 4) -> Inbound:
    return Inbound(
        RequestHeader(ApiKey.HEARTBEAT, version, 5, "c"), HeartbeatRequest(group_id="g", member_id="m").encode(version)
    )


def create_topics() -> Inbound:
    body = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")])
    return Inbound(RequestHeader(ApiKey.CREATE_TOPICS, 7, 5, "c"), body.encode(7))


def produce(acks: int) -> Inbound:
    return Inbound(RequestHeader(ApiKey.PRODUCE, 9, 5, "c"), ProduceRequest(acks=acks, timeout_ms=1).encode(9))


def fails(error: Exception) -> Callable[[ApiRequest], Any]:
    def handler(request: ApiRequest) -> Any:
        raise error

    return handler


def fails_later(error: Exception) -> Callable[[ApiRequest], Any]:
    async def handler(request: ApiRequest) -> Any:
        await asyncio.sleep(0)
        raise error

    return handler


async def run_loop(count: int = 6) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Broken:
    """A response that cannot be encoded at any version."""

    error_code = 0

    def encode_chunks(self, version: int) -> list[Any]:
        raise RuntimeError("no bytes for this")


def test_an_answer_now() -> None:
    running_broker = RunningBroker(lambda request: HeartbeatResponse(error_code=25))
    inbound = running_broker.submit(heartbeat())
    assert inbound.answer.error_code == 25
    assert running_broker.observer.seen == [("HEARTBEAT", len(inbound.ends[0]))]


def test_an_answer_later_by_coroutine_and_by_pending() -> None:
    async def scenario() -> None:
        async def later(request: ApiRequest) -> Any:
            await asyncio.sleep(0)
            return HeartbeatResponse(error_code=26)

        inbound = RunningBroker(later).submit(heartbeat())
        assert inbound.ends == []
        await run_loop()
        assert inbound.answer.error_code == 26

        pending: Promise[Any] = Promise()
        inbound = RunningBroker(lambda request: pending).submit(heartbeat())
        assert inbound.ends == []
        pending.complete(HeartbeatResponse(error_code=27))
        pending.complete(HeartbeatResponse(error_code=28))
        assert inbound.answer.error_code == 27

    asyncio.run(scenario())


def test_the_answers_that_are_no_messages() -> None:
    assert RunningBroker(lambda request: NO_RESPONSE).submit(heartbeat()).ends == [None]
    assert RunningBroker(lambda request: RawResponse(b"xy")).submit(heartbeat()).ends == [b"xy"]
    assert RunningBroker(lambda request: CloseConnection("why")).submit(heartbeat()).closed_for == "why"


@pytest.mark.parametrize("how", [fails, fails_later])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError(Error.GROUP_AUTHORIZATION_FAILED), Error.GROUP_AUTHORIZATION_FAILED),
        (ValueError("a bug"), Error.UNKNOWN_SERVER_ERROR),
        (KeyError("a bug"), Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_handler_that_fails_is_answered_for(how: Any, error: Exception, code: Error) -> None:
    async def scenario() -> None:
        inbound = RunningBroker(how(error)).submit(heartbeat())
        await run_loop()
        assert inbound.answer.error_code == code

    asyncio.run(scenario())


@pytest.mark.parametrize("how", [fails, fails_later])
def test_without_acknowledgements_a_failure_closes(how: Any) -> None:
    async def scenario() -> None:
        inbound = RunningBroker(how(KafkaError(Error.INVALID_REQUEST))).submit(produce(acks=0))
        await run_loop()
        assert "INVALID_REQUEST" in inbound.closed_for

    asyncio.run(scenario())


@pytest.mark.parametrize("later", [False, True])
def test_an_answer_without_bytes_closes_the_connection_instead_of_muting_it(later: bool) -> None:
    async def scenario() -> None:
        async def coroutine(request: ApiRequest) -> Any:
            return Broken()

        running_broker = RunningBroker(coroutine if later else lambda request: Broken())
        inbound = running_broker.submit(heartbeat())
        await run_loop()
        assert inbound.closed_for == "internal error"

    asyncio.run(scenario())


def test_a_field_the_version_lacks_becomes_an_error_answer() -> None:
    response = CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(name=None)])  # type: ignore[arg-type]
    inbound = RunningBroker(lambda request: response).submit(create_topics())
    assert [topic.error_code for topic in inbound.answer.topics] == [Error.UNKNOWN_SERVER_ERROR]


def test_a_body_that_does_not_parse_closes() -> None:
    inbound = heartbeat()
    inbound.frame = inbound.frame[:-4]
    RunningBroker(lambda request: HeartbeatResponse()).submit(inbound)
    assert "HEARTBEAT v4 does not parse" in inbound.closed_for


def test_bytes_after_the_body_are_ignored() -> None:
    inbound = heartbeat()
    inbound.frame += b"\0\0\0"
    assert RunningBroker(lambda request: HeartbeatResponse()).submit(inbound).answer.error_code == 0


def test_an_api_without_a_route_closes() -> None:
    inbound = Inbound(RequestHeader(ApiKey.END_TXN, 1, 1, None), b"")
    assert "not served" in RunningBroker(lambda request: None).submit(inbound).closed_for
    with pytest.raises(DecodeError):
        RunningBroker(lambda request: None).router.decode(ApiKey.END_TXN, b"", 0, 0)


@pytest.mark.spec("F9")
def test_a_version_above_its_ceiling_closes_and_is_none_inside_an_envelope() -> None:
    running_broker = RunningBroker(lambda request: CreateTopicsResponse())
    routes = {int(key): Route(row, lambda request: CreateTopicsResponse(), 5) for key, row in ROWS.items()}
    running_broker.router.install(routes, NO_THROTTLING)
    body = CreateTopicsRequest().encode(5)
    assert running_broker.submit(Inbound(RequestHeader(ApiKey.CREATE_TOPICS, 5, 1, "c"), body)).answer.topics == []
    held_back = running_broker.submit(Inbound(RequestHeader(ApiKey.CREATE_TOPICS, 6, 1, "c"), body))
    assert "signalbox.forwarded.api.versions.max" in held_back.closed_for
    with pytest.raises(DecodeError, match="above version 5"):
        running_broker.router.decode(ApiKey.CREATE_TOPICS, body, 6, 0)


@pytest.mark.parametrize("version", [6, 99, 32767, -1])
def test_api_versions_reaches_its_handler_at_any_version(version: int) -> None:
    seen: list[ApiRequest] = []

    def handler(request: ApiRequest) -> Any:
        seen.append(request)
        return RawResponse(b"")

    RunningBroker(handler).submit(Inbound(RequestHeader(ApiKey.API_VERSIONS, version, 1, "c"), b"\xff garbage"))
    assert [request.body for request in seen] == [None]


@pytest.mark.spec("F2")
def test_the_controllers_business_is_forwarded_once_and_only_off_the_controller() -> None:
    async def scenario() -> None:
        running_broker = RunningBroker(lambda request: CreateTopicsResponse())
        assert running_broker.submit(create_topics()).answer.topics == []
        running_broker.controller.is_active = False
        inbound = running_broker.submit(create_topics())
        await run_loop()
        assert inbound.ends == [b"raw"]
        [asked] = running_broker.forwarder.forwarded
        assert bytes(asked.frame) == inbound.frame
        asked.forwarded_by = "User:broker"  # received in an Envelope: not forwarded again
        assert isinstance(running_broker.router.answer(asked), CreateTopicsResponse)
        assert running_broker.submit(heartbeat()).ends  # handled locally
        assert len(running_broker.forwarder.forwarded) == 1

    asyncio.run(scenario())


def test_a_stop_ends_waiting_requests() -> None:
    async def scenario() -> None:
        async def never(request: ApiRequest) -> Any:
            await asyncio.get_running_loop().create_future()

        running_broker = RunningBroker(never)
        inbound = running_broker.submit(heartbeat())
        await run_loop()
        running_broker.router.close()
        await run_loop()
        assert inbound.closed_for == "the broker is stopping"
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())


def test_an_observer_sees_what_ended_and_nothing_else() -> None:
    running_broker = RunningBroker(lambda request: ApiVersionsResponse())
    running_broker.submit(heartbeat(0))
    inbound = heartbeat()
    inbound.frame = inbound.frame[:-4]
    running_broker.submit(inbound)
    assert [name for name, _ in running_broker.observer.seen] == ["HEARTBEAT"]
