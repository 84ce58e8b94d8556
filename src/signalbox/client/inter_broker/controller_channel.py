"""Broker → active controller: Envelope, AlterPartition, AllocateProducerIds, ControlledShutdown, CreateTopics.

Many requests are in flight at once, unlike Kafka's one, whose forwarding rate is 1 / round trip (KIP-590). Rules
(SPEC F5, F9):

* after a disconnect, or NOT_CONTROLLER in the response: look the controller up again, and put the request back at its
  old position in the queue;
* the deadline of a request is never extended; when it passes: KafkaError(REQUEST_TIMED_OUT);
* the queue is bounded: a request that does not fit fails with REQUEST_TIMED_OUT at once.

A request whose connection was lost is retried. With a forwarding id our controllers execute it once; without one, and
on Kafka's controllers, an operation can be executed twice.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Any

from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.wire_frames import ApiRanges, Chunk, decode_response
from signalbox.client.failures import ClientFailure, VersionUnsupported
from signalbox.client.inter_broker.controller_connections import ControllerConnections, ControllerLookup
from signalbox.common.ids import FORWARDING_ID_TAG
from signalbox.common.limits import MAX_FORWARDS_IN_FLIGHT, MAX_FORWARDS_QUEUED
from signalbox.common.metrics import MetricName, Metrics
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.error_table import Error, KafkaError, has_not_controller_error
from signalbox.protocol.messages.envelope import EnvelopeRequest

_CLOSED = "the channel to the controller is closed"


class ControllerRequest:
    """One request to the active controller. Ordered by `number`, so that a retried request keeps its position."""

    __slots__ = ("future", "is_queued", "message", "number", "version")

    def __init__(self, number: int, message: Any, future: asyncio.Future[Any]) -> None:
        self.number = number
        self.message = message
        self.future = future
        self.version = -1
        self.is_queued = False

    def __lt__(self, other: ControllerRequest) -> bool:
        return self.number < other.number

    def decode(self, payload: Chunk) -> Any:
        """The decoded response; DecodeError when the payload is invalid."""
        return decode_response(API_TABLE[self.message.api_key].response, payload, self.version)


class ControllerChannel:
    """One broker's channel to the active controller. Make it in the running loop, `start()` it, `close()` it.
    `on_unreachable` is called at each attempt with the id of a controller that was connected and now is unreachable."""

    def __init__(
        self,
        lookup: ControllerLookup,
        cluster_id: str | None,
        settings: ConnectionSettings,
        on_unreachable: Callable[[int], None] = lambda node_id: None,
    ) -> None:
        self._settings = settings
        self._connections = ControllerConnections(lookup, cluster_id, settings, self._pump, self._rejected)
        self._connections.on_unreachable = on_unreachable
        self._queue: list[ControllerRequest] = []  # with requests whose deadline has passed
        self._waiting = 0  # without them
        self._numbers = 0
        self._closed = False
        self.in_flight = 0
        self.requests_total = 0
        self.retries_total = 0
        self.failures_total = 0

    def start(self) -> None:
        """Connect to the controller now, so that its ApiVersions are known before the first request."""
        self._connections.open_soon()

    def controller_changed(self) -> None:
        """The lookup may return another controller now."""
        self._connections.controller_changed()

    @property
    def api_ranges(self) -> ApiRanges | None:
        """The APIs that the active controller supports, for the intersection of F9; None while it is not connected."""
        return self._connections.api_ranges

    @property
    def queue_length(self) -> int:
        return self._waiting

    def expose(self, metrics: Metrics, channel: str) -> None:
        """Register the metrics, tagged with `channel` (`forwarding`, `alter-partition` …)."""
        group, tags = ("signalbox.client", "ControllerChannel"), {"channel": channel}
        metrics.gauge(MetricName(*group, "QueueLength"), lambda: self.queue_length, tags)
        metrics.gauge(MetricName(*group, "RequestsInFlight"), lambda: self.in_flight, tags)
        for name, read in (
            ("Requests", lambda: self.requests_total),
            ("Retries", lambda: self.retries_total),
            ("Failures", lambda: self.failures_total),
            ("MisroutedConnections", lambda: self._connections.misroutes),
        ):
            metrics.counter_from(MetricName(*group, name), read, tags)

    async def request(self, message: Any, timeout_ms: float | None = None) -> Any:
        """The active controller's response to `message`.

        KafkaError: REQUEST_TIMED_OUT at the deadline or when the queue is full, UNSUPPORTED_VERSION when the controller
        does not support the request, SASL_AUTHENTICATION_FAILED when it rejects our credentials, NETWORK_EXCEPTION when
        the channel is closed.
        """
        return await self.submit(message, timeout_ms)

    async def envelope(
        self,
        request_data: Chunk,
        principal: bytes | None,
        client_address: bytes,
        timeout_ms: float | None = None,
        forwarding_id: bytes | None = None,
    ) -> Any:
        """Forward a client's request, byte for byte, with its principal and raw address (4 or 16 bytes). Without a
        principal it is a request of this broker itself. With a `forwarding_id` (an encoded ForwardingId) the controller
        executes it once, however often it is retried."""
        message = EnvelopeRequest(
            request_data=bytes(request_data), request_principal=principal, client_host_address=client_address
        )
        if forwarding_id is not None:
            message.unknown_tags = {FORWARDING_ID_TAG: forwarding_id}
        return await self.submit(message, timeout_ms)

    def submit(self, message: Any, timeout_ms: float | None = None) -> asyncio.Future[Any]:
        """As `request`, without a coroutine: the message is queued, or already sent, when this returns."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self.requests_total += 1
        self._numbers += 1
        request = ControllerRequest(self._numbers, message, future)
        if self._closed:
            self._fail(request, Error.NETWORK_EXCEPTION, _CLOSED)
        elif self._waiting >= MAX_FORWARDS_QUEUED:
            self._fail(request, Error.REQUEST_TIMED_OUT, "too many requests wait for the controller")
        else:
            after = (timeout_ms if timeout_ms is not None else self._settings.request_timeout_ms) / 1000
            timer = loop.call_later(after, self._expire, request)
            future.add_done_callback(lambda _: self._done(request, timer))
            self._push(request)
            self._pump()
        return future

    async def close(self) -> None:
        """Stop; requests without a response fail with KafkaError (NETWORK_EXCEPTION)."""
        self._closed = True
        await self._connections.close()
        self._fail_queued(Error.NETWORK_EXCEPTION, _CLOSED)

    def _pump(self) -> None:
        """Send queued requests while fewer than MAX_FORWARDS_IN_FLIGHT are in flight and a connection is available."""
        while self._queue and self.in_flight < MAX_FORWARDS_IN_FLIGHT and not self._closed:
            if self._queue[0].future.done():
                self._pop()
                continue
            connection = self._connections.take()
            if connection is None:
                return
            self._send(connection, self._pop())

    def _push(self, request: ControllerRequest) -> None:
        request.is_queued = True
        self._waiting += 1
        heapq.heappush(self._queue, request)

    def _pop(self) -> ControllerRequest:
        request = heapq.heappop(self._queue)
        self._leave(request)
        return request

    def _done(self, request: ControllerRequest, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        if request.is_queued:
            self._leave(request)
            request.message = None  # the request stays in the queue until it is first, its bytes do not

    def _leave(self, request: ControllerRequest) -> None:
        if request.is_queued:
            request.is_queued = False
            self._waiting -= 1

    def _send(self, connection: ClientConnection, request: ControllerRequest) -> None:
        try:
            request.version = connection.version_for(request.message)
            payload = connection.send(request.message, request.version)
        except (VersionUnsupported, ValueError) as error:
            self._fail(request, Error.UNSUPPORTED_VERSION, str(error))
            return
        self.in_flight += 1
        payload.add_done_callback(lambda done: self._answered(connection, request, done))

    def _answered(
        self, connection: ClientConnection, request: ControllerRequest, payload: asyncio.Future[Chunk]
    ) -> None:
        self.in_flight -= 1
        if payload.exception() is not None:
            self._send_again(request)
        else:
            try:
                response = request.decode(payload.result())
            except ValueError as error:
                connection.close(f"unreadable answer: {error}")
                self._send_again(request)
            else:
                if has_not_controller_error(response):
                    self._connections.denied(connection)
                    self._send_again(request)
                elif not request.future.done():
                    request.future.set_result(response)
        self._connections.drained()
        self._pump()

    def _send_again(self, request: ControllerRequest) -> None:
        """Put the request back at its old position: requests are ordered by their number."""
        if self._closed:
            self._fail(request, Error.NETWORK_EXCEPTION, _CLOSED)
        elif not request.future.done():
            self.retries_total += 1
            self._push(request)

    def _expire(self, request: ControllerRequest) -> None:
        self._fail(request, Error.REQUEST_TIMED_OUT, "the controller did not answer in time")

    def _rejected(self, failure: ClientFailure) -> None:
        """The controller rejects our credentials: all queued requests fail, because waiting would not help them."""
        self._fail_queued(Error.SASL_AUTHENTICATION_FAILED, str(failure))

    def _fail_queued(self, error: Error, text: str) -> None:
        queue, self._queue = self._queue, []
        for request in queue:
            self._leave(request)
            self._fail(request, error, text)

    def _fail(self, request: ControllerRequest, error: Error, text: str) -> None:
        if not request.future.done():
            self.failures_total += 1
            request.future.set_exception(KafkaError(error, text))
