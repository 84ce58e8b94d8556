"""Envelope (key 58): a request that another broker forwards to the active controller. KIP-590, version 0.

Order of checks as in Kafka: the privileged listener (else the connection is closed), CLUSTER_ACTION on the cluster
for the forwarding broker's principal, an active controller on this node, then the content. The same router handles the
inner request, once, with the original principal: forwarding gives no additional rights.
"""

from __future__ import annotations

from typing import Any

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalResponse, HandlerResult
from signalbox.broker.authorization.cluster_action import acts_as_broker
from signalbox.broker.forwarding.envelope import unwrap
from signalbox.broker.ports import ActiveController
from signalbox.broker.router import Router
from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.protocol.error_table import Error, KafkaError, has_not_controller_error
from signalbox.protocol.messages.envelope import EnvelopeResponse
from signalbox.security.authorizer import Authorizer
from signalbox.security.principal import PrincipalSerde


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
