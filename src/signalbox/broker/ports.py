"""What the broker's rooms need of their neighbours, in the broker's own words; wiring hands them the real ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, FinalAnswer
from signalbox.broker.routes import RouteRow
from signalbox.protocol.headers import RequestHeader
from signalbox.security.acl_view import AclIndex
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.request_context import RequestContext


class InboundRequest(Protocol):
    """Network's request: ends with exactly one of the four methods that answer or refuse."""

    @property
    def header(self) -> RequestHeader: ...

    @property
    def frame(self) -> bytes | memoryview: ...

    @property
    def body_offset(self) -> int: ...

    @property
    def context(self) -> RequestContext: ...

    @property
    def received_at(self) -> float: ...

    def throttle(self, milliseconds: int) -> None:
        """Before the answer: read nothing from the client for so long after it."""
        ...

    def respond(self, chunks: list[Any]) -> None: ...

    def respond_nothing(self) -> None: ...

    def close_connection(self, reason: str) -> None: ...

    def refuse(self, reason: str) -> None:
        """As `close_connection`, counted and logged: what came was no request."""
        ...


class ActiveController(Protocol):
    """The controller on this node, active or not."""

    @property
    def is_active(self) -> bool: ...

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any:
        """The response message; KafkaError(NOT_CONTROLLER) when this node is not the active controller."""
        ...


class Forwarder(Protocol):
    def forward(self, request: ApiRequest) -> Awaitable[FinalAnswer]:
        """The active controller's answer to a request that came to another broker (KIP-590)."""
        ...


class RequestObserver(Protocol):
    """Sees every request that ended: metrics and the audit trail."""

    def observe(
        self, request: ApiRequest, row: RouteRow, answer: FinalAnswer, response_bytes: int, duration_s: float
    ) -> None: ...


class LongLane(Protocol):
    """Where work runs that may be too long for one go (`common/long_work.py`)."""

    def run(self, work: Callable[[], None], again: bool = False) -> None:
        """Begin at once; `again`: the rest of something that was begun. `work` catches its own errors."""
        ...


class ControllerRequests(Protocol):
    """Requests of this broker to the active controller, wherever it is (itself included)."""

    async def request(self, message: Any, timeout_ms: int) -> Any:
        """The response message; KafkaError(REQUEST_TIMED_OUT) at the deadline."""
        ...


class EnvelopeChannel(Protocol):
    """The way of Envelopes to the active controller: pipelined, with a deadline, NOT_CONTROLLER looked up again."""

    async def envelope(
        self,
        request_data: bytes,
        principal: bytes | None,
        client_address: bytes,
        timeout_ms: int,
        forwarding_id: bytes | None = None,
    ) -> Any:
        """The EnvelopeResponse. Without a `principal` the broker asks for itself.
        `forwarding_id` is the same however often it is sent. KafkaError(REQUEST_TIMED_OUT)
        at the deadline, UNSUPPORTED_VERSION when the controller takes no Envelope, SASL_AUTHENTICATION_FAILED when it
        does not let us in."""
        ...


class ConfigValues(Protocol):
    """Configs of topics, brokers and subscriptions as they stand now: what is set, over the defaults."""

    def topic_overrides(self, topic: str) -> Mapping[str, str]: ...

    def broker_overrides(self, broker_id: int) -> Mapping[str, str]: ...

    def broker_default_overrides(self) -> Mapping[str, str]: ...

    def client_metrics_overrides(self, subscription: str) -> Mapping[str, str]: ...


class AclReading(Protocol):
    """The cluster's ACLs, where the authorizer decides by them."""

    async def current(self) -> AclIndex:
        """With all that was stored before this was asked."""
        ...


class StoredConfigs(Protocol):
    """Dynamic configs as they are stored: SCRAM credentials and quotas among them, which no view of configs shows."""

    async def current(self) -> Mapping[str, Mapping[str, str]]:
        """Configs by entity path (`users/alice`), with all that was stored before this was asked."""
        ...


class TokenReading(Protocol):
    """The cluster's delegation tokens, where they are on."""

    async def current(self) -> Mapping[str, DelegationToken]:
        """By id, with all that was stored before this was asked."""
        ...


class TopicCreation(Protocol):
    """Creates missing topics on behalf of Metadata and FindCoordinator (F10): in-flight requests are joined."""

    async def create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        """(error code, message) once the controller has answered; 0 when the topic is there."""
        ...
