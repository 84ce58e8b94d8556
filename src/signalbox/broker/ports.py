"""Ports of the broker package: its requirements of other packages. `wiring` passes the implementations."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.broker.routes import RouteRow
from signalbox.protocol.headers import RequestHeader
from signalbox.security.acl_view import AclIndex
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.request_context import RequestContext


class InboundRequest(Protocol):
    """A request of the network package. It ends with exactly one call of `respond`, `respond_nothing`,
    `close_connection` or `reject`."""

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
        """To be called before the response: mute the connection for this time after the response."""
        ...

    def respond(self, chunks: list[Any]) -> None: ...

    def respond_nothing(self) -> None: ...

    def close_connection(self, reason: str) -> None: ...

    def reject(self, reason: str) -> None:
        """As `close_connection`, counted and logged: the frame was not a valid request."""
        ...


class ActiveController(Protocol):
    """The controller on this node, active or not."""

    @property
    def is_active(self) -> bool: ...

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any:
        """The response message; KafkaError(NOT_CONTROLLER) when this node is not the active controller."""
        ...


class Forwarder(Protocol):
    def forward(self, request: ApiRequest) -> Awaitable[FinalResponse]:
        """The active controller's response to a request that another broker received (KIP-590)."""
        ...


class RequestObserver(Protocol):
    """Called for every completed request: metrics and the audit trail."""

    def observe(
        self, request: ApiRequest, row: RouteRow, response: FinalResponse, response_bytes: int, duration_s: float
    ) -> None: ...


class ControllerRequests(Protocol):
    """Requests of this broker to the active controller, on any node including this one."""

    async def request(self, message: Any, timeout_ms: int) -> Any:
        """The response message; KafkaError(REQUEST_TIMED_OUT) at the deadline."""
        ...


class EnvelopeChannel(Protocol):
    """The channel for Envelopes to the active controller: pipelined, with a deadline; after NOT_CONTROLLER it looks up
    the active controller again."""

    async def envelope(
        self,
        request_data: bytes,
        principal: bytes | None,
        client_address: bytes,
        timeout_ms: int,
        forwarding_id: bytes | None = None,
    ) -> Any:
        """The EnvelopeResponse. Without a `principal` the request is this broker's own. `forwarding_id` is the same for
        every retry. KafkaError(REQUEST_TIMED_OUT) at the deadline, UNSUPPORTED_VERSION when the controller does not
        support Envelope, SASL_AUTHENTICATION_FAILED when this broker cannot log in."""
        ...


class ConfigValues(Protocol):
    """Current configs of topics, brokers and subscriptions: the values that are set, which override the defaults."""

    def topic_overrides(self, topic: str) -> Mapping[str, str]: ...

    def broker_overrides(self, broker_id: int) -> Mapping[str, str]: ...

    def broker_default_overrides(self) -> Mapping[str, str]: ...

    def client_metrics_overrides(self, subscription: str) -> Mapping[str, str]: ...


class AclReading(Protocol):
    """The cluster's ACLs, for an authorizer that uses ACLs."""

    async def current(self) -> AclIndex:
        """The ACLs, including everything that was stored before the call."""
        ...


class StoredConfigs(Protocol):
    """Dynamic configs as stored, including SCRAM credentials and quotas, which `ConfigValues` does not contain."""

    async def current(self) -> Mapping[str, Mapping[str, str]]:
        """Configs by entity path (`users/alice`), including everything that was stored before the call."""
        ...


class TokenReading(Protocol):
    """The cluster's delegation tokens, where they are enabled."""

    async def current(self) -> Mapping[str, DelegationToken]:
        """Tokens by id, including everything that was stored before the call."""
        ...


class TopicCreation(Protocol):
    """Creates missing topics on behalf of Metadata and FindCoordinator (F10); requests for the same topic share one
    creation in flight."""

    async def create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        """(error code, message) of the controller's response; 0 when the topic exists."""
        ...
