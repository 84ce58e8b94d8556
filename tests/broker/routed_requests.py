"""Requests for a `Router`, brokers around it, and handlers that fail in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from signalbox.broker.api_request import ApiRequest, CloseConnection, RawResponse
from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.router import Router
from signalbox.broker.routes import ROUTES, Route
from signalbox.common.clock import ManualClock
from signalbox.network.connection import InboundRequest
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.heartbeat import HeartbeatRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import context
from tests.common.scheduling.schedulers import ImmediateScheduler

ROWS = {row.api_key: row for row in ROUTES}


class InboundChannel:
    """The channel of a request's connection: all that a router asks of it."""

    carries_replication = False

    def carry_replication(self) -> None:
        self.carries_replication = True


class InboundConnection:
    def __init__(self) -> None:
        self.channel = InboundChannel()


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
        self.connection = InboundConnection()

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


class Observer(AuditingObserver):
    """Notes what was observed, and writes no metric and no event."""

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
