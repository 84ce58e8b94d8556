"""Passes a request to its handler and the handler's response back to the connection.

The router is the request sink of the network package. It decodes a request, looks up its API in the route table, calls
the handler (or the forwarder, when the active controller is another node) and encodes the response. It has no code for
single APIs. It guarantees that every request ends exactly once: with a response, without one (acks=0), or with a closed
connection. A request that may take long, by the size of its frame or by its route, runs as a cooperative task: it is
decoded, handled, encoded and freed in slices, while its connection stays muted, so that the order is kept.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from signalbox.broker.api_request import (
    ApiRequest,
    CloseConnection,
    FinalResponse,
    HandlerResult,
    NoResponse,
    RawResponse,
    ResponseMessage,
    settled,
)
from signalbox.broker.client_quotas import NO_THROTTLING, Throttling
from signalbox.broker.error_responses import error_response, failure
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.ports import ActiveController, Forwarder
from signalbox.broker.routes import Disposition, Route, RouteRow, RouteTable
from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import is_long, own_time
from signalbox.common.limits import LONG_FRAME_BYTES
from signalbox.common.log_limiter import LogSource
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.promise import Promise
from signalbox.network.connection import InboundRequest
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError, EncodeError, StringTooLong
from signalbox.protocol.error_table import Error, KafkaError, has_not_controller_error
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.lenient_utf8 import LONGEST_SURELY_WRITABLE_BYTES, malformed_texts
from signalbox.protocol.message import Message

log = logging.getLogger(__name__)

_COORDINATOR_KEEPS = frozenset((ApiKey.JOIN_GROUP, ApiKey.INIT_PRODUCER_ID))


Resume = Callable[[Callable[[], None]], None]


def _resume_now(work: Callable[[], None]) -> None:
    work()


class Decoder(Protocol):
    def __call__(self, buffer: Any, version: int, offset: int = 0) -> tuple[Any, int]: ...


class Router:
    """Request sink of both planes; also handles the inner request of an Envelope (`answer`)."""

    def __init__(
        self,
        controller: ActiveController,
        forwarder: Forwarder,
        observer: AuditingObserver,
        clock: Clock,
        scheduler: TaskScheduler,
    ) -> None:
        self._controller = controller
        self._forwarder = forwarder
        self._observer = observer
        self._clock = clock
        self._scheduler = scheduler
        self._routes: RouteTable = {}
        self._throttling = NO_THROTTLING
        self._decoders: dict[int, Decoder] = {}
        self._pending: set[asyncio.Future[Any]] = set()

    def install(self, routes: RouteTable, throttling: Throttling) -> None:
        """Set the route table and the throttling. They are set after construction, since handlers such as Envelope's
        need the router."""
        self._routes = routes
        self._throttling = throttling

    def route(self, api_key: int) -> Route | None:
        return self._routes.get(api_key)

    def submit(self, request: InboundRequest) -> None:
        """Port of the network package: one request of a connection, which stays muted until this request has ended.
        Yields."""
        header, taken_at = request.header, self._clock.monotonic()
        route = self._routes.get(header.api_key)
        if route is None:
            request.reject(f"API {header.api_key} is not served here")
            return
        if route.row.answers_long or (len(request.frame) >= LONG_FRAME_BYTES and header.api_key != ApiKey.PRODUCE):
            self._scheduler.run(lambda: self._take(request, route, taken_at, self._run_long))
        else:
            self._take(request, route, taken_at, _resume_now)

    def _take(self, request: InboundRequest, route: Route, taken_at: float, resume: Resume) -> None:
        """Decode the request, call the handler and end the request. A response that comes later is finished by
        `resume`. Yields."""
        header, began, malformed = request.header, own_time(self._clock.monotonic), malformed_texts()
        try:
            row = API_TABLE[header.api_key]
            if not row.min_version <= header.api_version <= row.max_version:
                body = None  # only ApiVersions: its handler responds to any version (KIP-511)
            else:
                body = self.decode(header.api_key, request.frame, header.api_version, request.body_offset)
            if malformed_texts() != malformed and _keeps_strings(route.row):
                _check_strings(body, header.api_version, len(request.frame))
        except (DecodeError, EncodeError) as error:
            request.reject(f"{route.row.api_key.name} v{header.api_version} does not parse: {error}")
            return
        api_request = ApiRequest(header, body, request.context, request.frame, request.received_at)
        api_request.queue_s = max(0.0, taken_at - request.received_at)
        response = self.answer(api_request)
        api_request.busy_s = own_time(self._clock.monotonic) - began
        if api_request.replicates:
            request.connection.channel.carry_replication()
        if isinstance(response, Promise):
            # A response from a purgatory: one callback, no task. Every acks=all produce and delayed fetch comes here.
            finish = partial(self._finish_promise, request, api_request, response)
            if response.is_done:
                finish()
            else:
                response.when_done(lambda: resume(finish))
        elif inspect.isawaitable(response):
            self._finish_later(request, api_request, response, resume)
        else:
            self._finish(request, api_request, response)

    def _run_long(self, work: Callable[[], None]) -> None:
        self._scheduler.run(work, again=True)

    def result_of(self, work: Callable[[], Any]) -> Awaitable[Any]:
        """The result of `work`, which runs as a cooperative task: for large responses that were awaited."""
        return self._scheduler.result_of(work)

    def ended(self, request: ApiRequest, response: FinalResponse, size_bytes: int) -> None:
        """Pass a completed request to the observer: a request of a connection, or the inner request of an Envelope."""
        duration_s = self._clock.monotonic() - request.received_at
        row = self._routes[request.header.api_key].row
        self._observer.observe(request, row, response, size_bytes, duration_s)

    def close(self) -> None:
        """The broker stops: connections with requests in flight are closed without a response."""
        for task in list(self._pending):
            task.cancel()

    def decode(self, api_key: int, frame: bytes | memoryview, version: int, offset: int) -> Any:
        """The request's body; DecodeError when it does not parse. Bytes after the body are ignored, as in Kafka:
        librdkafka sends three extra bytes with Metadata 13. Yields."""
        decoder, route = self._decoders.get(api_key), self._routes.get(api_key)
        if route is None:
            raise DecodeError(f"API {api_key} is not served here")
        if version > route.max_version:
            raise DecodeError(
                f"signalbox.forwarded.api.versions.max holds back what is above version {route.max_version}"
            )
        if decoder is None:
            decoder = self._decoders[api_key] = API_TABLE[api_key].request.decode_prefix
        if len(frame) >= LONG_FRAME_BYTES and api_key != ApiKey.PRODUCE:
            return API_TABLE[api_key].request.decode_long(frame, version, offset)[0]
        return decoder(frame, version, offset)[0]

    def answer(self, request: ApiRequest) -> HandlerResult:
        """The response of this node, or of the active controller by forwarding; errors of the handler become the API's
        error response."""
        route = self._routes[request.header.api_key]
        try:
            if self._is_forwarded_elsewhere(request) and not self._controller.is_active:
                return self._forwarder.forward(request)
            with self._log_source(request):
                return route.handler(request)
        except Exception as error:
            return self._failed(request, error)

    def _is_forwarded_elsewhere(self, request: ApiRequest) -> bool:
        """Whether a broker that is not the active controller would forward the request."""
        row = self._routes[request.header.api_key].row
        return row.disposition is Disposition.CONTROLLER and request.forwarded_by is None

    def _log_source(self, request: ApiRequest) -> LogSource:
        """For the lines of a handler: requests of brokers are no source, their lines are about the cluster."""
        is_peer = self._routes[request.header.api_key].row.disposition is Disposition.PEER
        return LogSource("" if is_peer else request.context.client_address)

    async def settle(self, request: ApiRequest, response: HandlerResult) -> FinalResponse:
        """Await a response; errors of the handler become the API's error response."""
        try:
            with self._log_source(request):
                return await self._settled(request, response)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            return self._failed(request, error)

    async def _settled(self, request: ApiRequest, response: HandlerResult) -> FinalResponse:
        """The response. A change that waited while this node ceased to be the active controller is forwarded to the
        next one: above the gate no client sees NOT_CONTROLLER (F5)."""
        may_forward = self._is_forwarded_elsewhere(request) and not request.was_forwarded
        try:
            found = await settled(response)
        except KafkaError as error:
            if error.error is not Error.NOT_CONTROLLER or not may_forward:
                raise
        else:
            if not may_forward or not isinstance(found, Message) or not has_not_controller_error(found):
                return found
        return await self._forwarder.forward(request)

    def _finish_later(
        self, inbound: InboundRequest, request: ApiRequest, response: Awaitable[FinalResponse], resume: Resume
    ) -> None:
        task = asyncio.ensure_future(self.settle(request, response))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        if inspect.iscoroutine(response):
            task.add_done_callback(lambda _: response.close())  # not begun yet if the broker stops at once
        task.add_done_callback(lambda done: resume(lambda: self._finish_future(inbound, request, done)))

    def _finish_future(self, inbound: InboundRequest, request: ApiRequest, done: asyncio.Future[FinalResponse]) -> None:
        """Yields."""
        if done.cancelled():
            inbound.close_connection("the broker is stopping")
            return
        error = done.exception()
        final = done.result() if error is None else self._failed(request, error)
        self._finish(inbound, request, final)

    def _finish_promise(self, inbound: InboundRequest, request: ApiRequest, done: Promise[FinalResponse]) -> None:
        """Yields."""
        self._finish(inbound, request, done.result() if done.error is None else self._failed(request, done.error))

    def _finish(self, inbound: InboundRequest, request: ApiRequest, response: FinalResponse) -> None:
        """Yields."""
        row = self._routes[request.header.api_key].row
        try:
            size = self._end(inbound, request, response)
        except StringTooLong as error:
            inbound.reject(f"{row.api_key.name}: the response cannot be encoded: {error}")
            return
        except Exception:
            # A response that cannot be sent must not leave the connection muted forever.
            log.exception(
                "Response cannot be sent, the connection is closed (api=%s, version=%d)",
                row.api_key.name,
                request.header.api_version,
            )
            inbound.close_connection("internal error")
            return
        self.ended(request, response, size)
        if is_long():
            for message in (request.body, response):
                if isinstance(message, Message):
                    message.release_incrementally()

    def _end(self, inbound: InboundRequest, request: ApiRequest, response: FinalResponse) -> int:
        """End the request; returns the size of its response in bytes. Yields."""
        size, began = 0, own_time(self._clock.monotonic)
        throttle_ms = self._throttling.settle(request, response)
        if throttle_ms > 0:
            inbound.throttle(throttle_ms)
        if isinstance(response, RawResponse):
            size = len(response.payload)
            inbound.respond([response.payload])
        elif isinstance(response, NoResponse):
            inbound.respond_nothing()
        elif isinstance(response, CloseConnection):
            inbound.close_connection(response.reason)
        else:
            chunks = self.encode(request, response)
            size = sum(map(len, chunks))
            inbound.respond(chunks)
        self._throttling.spent(request, own_time(self._clock.monotonic) - began)
        return size

    def encode(self, request: ApiRequest, response: ResponseMessage) -> list[Any]:
        """Response header and body as chunks, at the request's version; UNKNOWN_SERVER_ERROR if the response cannot be
        encoded. Raises StringTooLong if that contains the client's too long string, too. Yields."""
        header = request.header
        head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
        try:
            if is_long() and isinstance(response, Message):
                return [head, *response.encode_long(header.api_version)]
            return [head, *response.encode_chunks(header.api_version)]
        except EncodeError as error:
            if not isinstance(error, StringTooLong):
                log.exception("Response cannot be encoded (api key=%d, version=%d)", header.api_key, header.api_version)
            failed = error_response(request, Error.UNKNOWN_SERVER_ERROR)
            return [head, *failed.encode_chunks(header.api_version)]

    def _failed(self, request: ApiRequest, error: BaseException) -> FinalResponse:
        if isinstance(error, KafkaError):
            return failure(request, error.error, str(error))
        name = self._routes[request.header.api_key].row.api_key.name
        log.error(
            "Unexpected error handling request (api=%s, version=%d)", name, request.header.api_version, exc_info=error
        )
        return failure(request, Error.UNKNOWN_SERVER_ERROR)


def _keeps_strings(row: RouteRow) -> bool:
    """Whether the request's names may be stored: by the controller, or as a group or producer of a coordinator."""
    return row.disposition is Disposition.CONTROLLER or row.api_key in _COORDINATOR_KEEPS


def _check_strings(body: Any, version: int, size_bytes: int) -> None:
    """EncodeError for a request with a string that could be stored and never be returned: everyone who asks for the
    metadata would lose the connection. Kafka fails such a request too, when it writes the record. Yields."""
    if body is not None and size_bytes > LONGEST_SURELY_WRITABLE_BYTES:
        body.encode_long(version) if is_long() else body.encode_chunks(version)
