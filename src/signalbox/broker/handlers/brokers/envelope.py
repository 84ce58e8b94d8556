"""Envelope (key 58): a request that another broker forwards to the active controller. KIP-590, version 0.

Order of checks as in Kafka: the privileged listener (else the connection is closed), CLUSTER_ACTION on the cluster
for the forwarding broker's principal, an active controller on this node, then the content. The same router handles the
inner request, once, with the original principal: forwarding gives no additional rights. `unwrap` is pure: it returns
the inner request or the Envelope-level error, in the order of Kafka's checks (F3).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalResponse, HandlerResult
from signalbox.broker.authorization.cluster_action import acts_as_broker
from signalbox.broker.ports import ActiveController
from signalbox.broker.router import Router
from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.common.ids import FORWARDING_ID_TAG, decode_forwarding_id
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError, has_not_controller_error
from signalbox.protocol.headers import decode_request_header
from signalbox.protocol.messages.envelope import EnvelopeResponse
from signalbox.security.authorizer import Authorizer
from signalbox.security.principal import PrincipalDeserializationError, PrincipalSerde

Decode = Callable[[int, bytes | memoryview, int, int], Any]


class EnvelopeHandler:
    """Handles Envelopes on the active controller."""

    def __init__(
        self,
        router: Router,
        controller: ActiveController,
        authorizer: Authorizer,
        serde: PrincipalSerde,
        audit: AuditSink,
    ) -> None:
        self._router = router
        self._serde = serde
        self._controller = controller
        self._authorizer = authorizer
        self._audit = audit

    def __call__(self, request: ApiRequest) -> HandlerResult:
        if not request.context.privileged:
            self._rejected(request, "an Envelope came in on a listener that is not privileged")
            return CloseConnection("an Envelope came in on a listener that is not privileged")
        if not acts_as_broker(self._authorizer, request.context):
            self._rejected(request, "an Envelope came from a principal without CLUSTER_ACTION")
            return EnvelopeResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED)
        if not self._controller.is_active:
            return EnvelopeResponse(error_code=Error.NOT_CONTROLLER)
        try:
            inner = unwrap(request, self._router.decode, self._serde)
        except KafkaError as error:
            self._rejected(request, error.message)
            return EnvelopeResponse(error_code=error.error)
        return self._answer(inner, self._router.answer(inner))

    async def _answer(self, inner: ApiRequest, inner_response: HandlerResult) -> FinalResponse:
        response: Any = await self._router.settle(inner, inner_response)
        if has_not_controller_error(response):
            return EnvelopeResponse(error_code=Error.NOT_CONTROLLER)
        data = await self._router.result_of(lambda: b"".join(self._router.encode(inner, response)))
        # Counted and audited under the inner API's name, with the client's principal and client id (F14).
        self._router.ended(inner, response, len(data))
        return EnvelopeResponse(response_data=data)

    def _rejected(self, request: ApiRequest, reason: str) -> None:
        context = request.context
        self._audit.record(
            AuditEvent(
                kind=AuditKind.REJECTED,
                listener=context.listener_name,
                plane=context.plane,
                connection_id=context.connection_id,
                client_address=context.client_address,
                client_id=request.header.client_id or "",
                principal=str(context.principal),
                api="ENVELOPE",
                api_version=request.header.api_version,
                correlation_id=request.header.correlation_id,
                reason=reason,
            )
        )


def unwrap(envelope: ApiRequest, decode: Decode, serde: PrincipalSerde) -> ApiRequest:
    """The inner request with the original principal and address.

    Without a principal (null) the request is the sending broker's own, with the principal of its connection: a
    dedicated controller accepts such requests only in an Envelope (F15; Kafka rejects a null principal with error 97).

    KafkaError carries the Envelope's error code: PRINCIPAL_DESERIALIZATION_FAILURE, INVALID_REQUEST (an invalid
    address, an API that may not be forwarded) or UNSUPPORTED_VERSION (a header or body that does not parse).
    """
    body = envelope.body
    principal = envelope.context.principal
    if body.request_principal is not None:
        try:
            principal = serde.deserialize(body.request_principal)
        except PrincipalDeserializationError as error:
            raise KafkaError(Error.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from error
    address = _address(body.client_host_address)
    try:
        header, offset = decode_request_header(body.request_data)
    except DecodeError as error:
        raise KafkaError(Error.UNSUPPORTED_VERSION, f"the inner header does not parse: {error}") from error
    row = API_TABLE.get(header.api_key)
    if row is None or not row.min_version <= header.api_version <= row.max_version:
        raise KafkaError(Error.UNSUPPORTED_VERSION, f"API {header.api_key} v{header.api_version} is not known here")
    if not row.forwardable:
        raise KafkaError(Error.INVALID_REQUEST, f"{row.name} may not be forwarded")
    try:
        inner = decode(header.api_key, body.request_data, header.api_version, offset)
    except DecodeError as error:
        raise KafkaError(Error.UNSUPPORTED_VERSION, f"the inner {row.name} does not parse: {error}") from error
    outer = envelope.context
    context = outer.forwarded(principal, address, bytes(body.client_host_address), header.api_key)
    context.forwarding_id = decode_forwarding_id((body.unknown_tags or {}).get(FORWARDING_ID_TAG))
    request = ApiRequest(
        header, inner, context, body.request_data, envelope.received_at, forwarded_by=str(outer.principal)
    )
    request.own_of_broker = body.request_principal is None
    return request


def _address(raw: bytes) -> str:
    try:
        address = ipaddress.ip_address(bytes(raw))
    except ValueError as error:
        raise KafkaError(
            Error.INVALID_REQUEST, f"a client address has 4 or 16 bytes, this one has {len(raw)}"
        ) from error
    # An IPv4 client on an IPv6 socket has a mapped address; ACLs contain the IPv4 address.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
