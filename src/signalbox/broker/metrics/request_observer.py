"""Adds every completed request to Kafka's request metrics and to the audit trail.

Admin requests and rejections get an event each; frequent requests are rolled up per connection and API. Requests that
the audit trail causes are left out, since each event would cause further events forever: Produce requests for
the audit topic only, follower fetches, AlterPartition. The first two are left out on the inter-broker listener only: a
client must not avoid the audit trail by naming the audit topic or a replica id.

Left out, too, is a creation of a topic that a broker asks for itself when another broker has created it: after a start
all brokers ask at the same time, and nothing has changed or failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.broker.audit.audit_resources import first_error, named_resources
from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.metrics.request_metrics import RequestMetrics, request_names
from signalbox.broker.routes import Audited, RouteRow
from signalbox.common.audit_event import AUDIT_TOPIC, AuditEvent, AuditKind, AuditSink
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error


class AuditingObserver:
    """The router's observer."""

    def __init__(self, metrics: RequestMetrics, rollups: AuditRollups, audit: AuditSink) -> None:
        self._metrics = metrics
        self._rollups = rollups
        self._audit = audit

    def observe(
        self, request: ApiRequest, row: RouteRow, response: FinalResponse, response_bytes: int, duration_s: float
    ) -> None:
        follower = row.api_key is ApiKey.FETCH and _fetches_as_follower(request.body)
        names, sizes = request_names(row.api_key, follower), (len(request.frame), response_bytes)
        self._metrics.ended(names, request.header.api_version, sizes, duration_s, request.queue_s)
        if row.audited is Audited.NEVER or _is_about_audit_topic(request) or _creates_again(request, response):
            return
        failed = bool(getattr(response, "error_code", 0))
        if row.audited is Audited.ROLLED_UP:
            if request.forwarded_by is None:  # else the broker of the client's connection rolls it up
                self._rollups.add(request, row.api_key.name, failed, response_bytes, duration_s)
        else:
            self._audit.record(self._single(request, row, response, duration_s))

    def _single(self, request: ApiRequest, row: RouteRow, response: FinalResponse, duration_s: float) -> AuditEvent:
        context, header = request.context, request.header
        return AuditEvent(
            kind=AuditKind.FORWARDED if request.was_forwarded else AuditKind.ADMIN,
            listener=context.listener_name,
            plane=context.plane,
            connection_id=context.connection_id,
            client_address=context.client_address,
            client_id=header.client_id or "",
            client_software=context.client_software,
            principal=str(context.principal),
            forwarding_principal=request.forwarded_by or "",
            api=row.api_key.name,
            api_version=header.api_version,
            correlation_id=header.correlation_id,
            resource=named_resources(row.api_key, request.body),
            error=first_error(response),
            duration_us=int(duration_s * 1e6),
            max_duration_us=int(duration_s * 1e6),
            request_bytes=len(request.frame),
        )


def _produces_to_audit_topic(body: Any) -> bool:
    return bool(body.topic_data) and all(topic.name == AUDIT_TOPIC for topic in body.topic_data)


def _fetches_as_follower(body: Any) -> bool:
    return bool(body.replica_id >= 0 or body.replica_state.replica_id >= 0)


_AUDIT_TOPIC_REQUESTS: dict[int, Callable[[Any], bool]] = {
    ApiKey.PRODUCE: _produces_to_audit_topic,
    ApiKey.FETCH: _fetches_as_follower,
}


def _is_about_audit_topic(request: ApiRequest) -> bool:
    check = _AUDIT_TOPIC_REQUESTS.get(request.header.api_key)
    return check is not None and request.context.inter_broker and check(request.body)


def _creates_again(request: ApiRequest, response: FinalResponse) -> bool:
    if not request.own_of_broker or request.header.api_key != ApiKey.CREATE_TOPICS:
        return False
    return all(topic.error_code == Error.TOPIC_ALREADY_EXISTS for topic in getattr(response, "topics", ()))
