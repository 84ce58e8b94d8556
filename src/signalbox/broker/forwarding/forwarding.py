"""Forwarding: a client's change goes to the active controller inside an Envelope (KIP-590, F2 and F5).

The Envelope contains the client's header and body byte for byte, and the principal and address of the client, with
which the controller authorizes again. The response is returned unchanged; errors are returned to the client by the
rules of F5:

    Envelope error                       result for the client
    NONE                                 the inner response, unchanged
    NOT_CONTROLLER                       none yet: the channel retries with the next controller, until the deadline
    (deadline)                           REQUEST_TIMED_OUT in the API's error response
    UNSUPPORTED_VERSION                  the connection is closed, so that the client negotiates versions again
    CLUSTER_AUTHORIZATION_FAILED         UNKNOWN_SERVER_ERROR; logged and counted as an error inside the cluster
    PRINCIPAL_DESERIALIZATION_FAILURE    UNKNOWN_SERVER_ERROR
    any other                            UNKNOWN_SERVER_ERROR

A broker below the gate (SPEC F17) forwards nothing: `LocalAdminRequests`.
"""

from __future__ import annotations

import logging
from typing import Any

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalResponse, RawResponse, settled
from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.broker.error_responses import error_response, failure
from signalbox.broker.forwarding.forwarding_metrics import ForwardingMetrics
from signalbox.broker.routes import RouteTable
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.ids import ForwardingId
from signalbox.common.log_limiter import CLIENT_CAUSED
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import RequestHeader, decode_response_header
from signalbox.security.principal import PrincipalSerde

log = logging.getLogger(__name__)

# As in Kafka: these return NOT_CONTROLLER before they authorize the request; the others authorize it first.
_REJECTED_BEFORE_AUTHORIZATION = frozenset((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS))


class EnvelopeForwarder:
    """Wraps requests for the active controller and unwraps its responses."""

    def __init__(
        self,
        channel: ControllerChannel,
        serde: PrincipalSerde,
        metrics: ForwardingMetrics,
        request_timeout_ms: int,
        numbering: ForwardingIds,
    ) -> None:
        self._channel = channel
        self._serde = serde
        self._metrics = metrics
        self._request_timeout_ms = request_timeout_ms
        self._numbering = numbering

    async def forward(self, request: ApiRequest) -> FinalResponse:
        """The active controller's response to `request`, or the error of the table above, within the request
        timeout."""
        context = request.context
        self._metrics.started(request.header.client_id)
        forwarding_id = self._numbering.begin()
        try:
            envelope = await self._channel.envelope(
                bytes(request.frame),
                self._serde.serialize(context.principal),
                context.client_address_bytes,
                self._request_timeout_ms,
                forwarding_id.encode(),
            )
        except KafkaError as error:
            timed_out = error.error is Error.REQUEST_TIMED_OUT
            self._metrics.failed(error.error)
            return error_response(request, Error.REQUEST_TIMED_OUT if timed_out else Error.UNKNOWN_SERVER_ERROR)
        finally:
            self._numbering.end(forwarding_id)
            self._metrics.ended(request.header.client_id)
        return self._completed(request, envelope)

    def _completed(self, request: ApiRequest, envelope: Any) -> FinalResponse:
        if envelope.error_code == Error.NONE:
            return self._inner(request, envelope.response_data)
        self._metrics.failed(Error.of(envelope.error_code))
        if envelope.error_code == Error.UNSUPPORTED_VERSION:
            return CloseConnection("the active controller does not take this version; negotiate again")
        if envelope.error_code == Error.CLUSTER_AUTHORIZATION_FAILED:
            # BROKER_AUTHORIZATION_FAILURE of the KIP has no error code on the wire: it is in the log and the metric
            # only.
            log.error(
                "Envelope rejected by the active controller: BROKER_AUTHORIZATION_FAILURE; give the brokers' "
                "principal CLUSTER_ACTION on the cluster, or list it in super.users",
                extra=CLIENT_CAUSED,
            )
        return error_response(request, Error.UNKNOWN_SERVER_ERROR)

    def _inner(self, request: ApiRequest, response_data: bytes | None) -> FinalResponse:
        header = request.header
        try:
            correlation_id, body = decode_response_header(response_data or b"", header.api_key, header.api_version)
        except DecodeError:
            correlation_id, body = None, 0
        if response_data is None or correlation_id != header.correlation_id:
            log.error(
                "Envelope response of the active controller does not contain the response to the request "
                "(correlation id=%d)",
                header.correlation_id,
                extra=CLIENT_CAUSED,
            )
            self._metrics.failed(Error.UNKNOWN_SERVER_ERROR)
            return error_response(request, Error.UNKNOWN_SERVER_ERROR)
        return RawResponse(bytes(response_data), _throttle_time_ms(header, response_data, body))


class LocalAdminRequests:
    """The router's forwarder below the gate: this broker handles the requests itself. The handlers then use
    `controller/direct_writes/broker_below_gate.py`, where the rest of this behavior is, in place of the controller."""

    def __init__(self) -> None:
        self._routes: RouteTable = {}

    def install(self, routes: RouteTable) -> None:
        """Set the route table, which is created after the router."""
        self._routes = routes

    async def forward(self, request: ApiRequest) -> FinalResponse:
        """This broker's local response."""
        key = request.header.api_key
        if key in _REJECTED_BEFORE_AUTHORIZATION:
            return failure(request, Error.NOT_CONTROLLER)
        response = self._routes[key].handler(request)
        return await settled(response)


def _throttle_time_ms(header: RequestHeader, payload: bytes, body: int) -> int:
    """The throttle time of the controller's quotas in ms; this broker mutes the client's connection for it
    (KIP-219)."""
    first = API_TABLE[header.api_key].response.schema.root.fields[0]
    if first.attribute != "throttle_time_ms" or header.api_version not in first.versions:
        return 0
    return int.from_bytes(payload[body : body + 4], signed=True)


class ForwardingIds:
    """One per broker: ids are unique within one broker epoch, and contain the oldest number still in flight. `begin` is
    called before a request is forwarded, `end` after it."""

    def __init__(self, broker: LocalEpochs) -> None:
        self._broker = broker
        self._last = 0
        self._open: dict[int, None] = {}  # numbers in flight, in ascending order

    def begin(self) -> ForwardingId:
        """The forwarding id of the next request."""
        self._last += 1
        self._open[self._last] = None
        return ForwardingId(self._broker.node_id, self._broker.broker_epoch, self._last, next(iter(self._open)))

    def end(self, forwarding_id: ForwardingId) -> None:
        """The request got its response, or the broker does not wait for it any more."""
        self._open.pop(forwarding_id.number, None)
