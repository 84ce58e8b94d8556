"""Events of the audit trail, as the broker writes them and the pipeline reads them.

One event is one JSON object, the value of one record in the audit topic; its key is the broker id. The audit trail of a
broker is complete when `seq` has no gap per (`broker_id`, `broker_epoch`). An event that had to be dropped still uses
its number, so a dropped event is a visible gap.

Single events: admin, forwarded, rejected, misrouted, advertised address, denied, connection open and close, policy.
Every frequent request (produce, fetch, heartbeat, metadata ...) is part of a `rollup` per connection and API: counts
and latency sums of a window.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any, Protocol

from signalbox.common.visible_text import clip

AUDIT_SCHEMA_VERSION = 1
AUDIT_TOPIC = "signalbox-audit"

# Characters of the texts that clients choose: without a limit one request could make an event that no topic admits, and
# a full queue of events would take gigabytes.
MAX_CLIENT_ID_CHARACTERS = 1_000
_LONGEST = {
    "client_id": MAX_CLIENT_ID_CHARACTERS,
    "client_software": 1_000,
    "principal": 1_000,
    "forwarding_principal": 1_000,
    "resource": 6_000,  # twenty topics with the longest names
    "reason": 1_000,
    "expected": 1_000,
    "actual": 1_000,
}


class AuditKind(StrEnum):
    """The kind of an event."""

    ADMIN = "admin"  # a change: the active controller decided it, or the broker that received it rejected it
    FORWARDED = "forwarded"  # a change, or a part of one, was forwarded to the active controller in an Envelope
    REJECTED = "rejected"  # this listener or plane does not accept the request
    MISROUTED = "misrouted"  # the client meant another node or cluster (KIP-1242)
    ADVERTISED_ADDRESS = "advertised_address"  # the check of an advertised address has another result than before
    DENIED = "denied"  # authentication or authorization failed
    POLICY = "policy"  # a policy rejected a change
    CONNECTION_OPEN = "connection_open"
    CONNECTION_CLOSE = "connection_close"
    ROLLUP = "rollup"  # many requests of one API on one connection


@dataclass(slots=True, kw_only=True)
class AuditEvent:
    """One event. Times in ms since the epoch, durations in microseconds; "" and -1 mean "does not apply".

    `principal` is the original one. For a forwarded request `forwarding_principal` names the broker that sent it; the
    arrival of the request at that broker is a FORWARDED event with the same `correlation_id`. `expected` and `actual`
    hold `cluster/node` pairs of a misroute, or of an advertised address; the latter's `target_node` advertises it.
    """

    kind: AuditKind
    timestamp_ms: int = -1
    listener: str = ""
    plane: str = ""
    connection_id: str = ""
    client_address: str = ""
    client_id: str = ""
    client_software: str = ""
    principal: str = ""
    forwarding_principal: str = ""
    api: str = ""
    api_version: int = -1
    correlation_id: int = -1
    resource: str = ""
    error: str = ""
    reason: str = ""
    target_node: int = -1
    expected: str = ""
    actual: str = ""
    count: int = 1
    error_count: int = 0
    duration_us: int = -1
    max_duration_us: int = -1
    request_bytes: int = 0
    response_bytes: int = 0
    window_start_ms: int = -1
    window_end_ms: int = -1


def clip_texts(event: AuditEvent) -> None:
    """Shortens texts of more characters than an event may have, in place."""
    for name, longest in _LONGEST.items():
        text = getattr(event, name)
        if len(text) > longest:
            setattr(event, name, clip(text, longest))


_EVENT_FIELDS = tuple(AuditEvent.__dataclass_fields__)
_values_of = attrgetter(*_EVENT_FIELDS)
_to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class AuditSink(Protocol):
    """Receives the events of all packages. Never blocks, never raises: a full queue drops the event and keeps the
    gap."""

    def record(self, event: AuditEvent) -> None: ...


class NullAudit:
    """An audit sink that drops all events: for tools and tests."""

    def record(self, event: AuditEvent) -> None:
        """Dropped."""


def encode_audit_event(event: AuditEvent, *, broker_id: int, broker_epoch: int, seq: int) -> bytes:
    """The record value: JSON that begins with the schema version, the writing broker and its sequence number."""
    fields: dict[str, Any] = {
        "schema": AUDIT_SCHEMA_VERSION,
        "broker_id": broker_id,
        "broker_epoch": broker_epoch,
        "seq": seq,
    }
    fields.update(zip(_EVENT_FIELDS, _values_of(event), strict=True))
    return _to_json(fields).encode()


@dataclass(frozen=True, slots=True)
class AuditField:
    """A column of the audit schema for readers: its name and its type ("int", "long", "string")."""

    name: str
    type: str


AUDIT_FIELDS: tuple[AuditField, ...] = (
    AuditField("schema", "int"),
    AuditField("broker_id", "int"),
    AuditField("broker_epoch", "long"),
    AuditField("seq", "long"),
    AuditField("kind", "string"),
    AuditField("timestamp_ms", "long"),
    AuditField("listener", "string"),
    AuditField("plane", "string"),
    AuditField("connection_id", "string"),
    AuditField("client_address", "string"),
    AuditField("client_id", "string"),
    AuditField("client_software", "string"),
    AuditField("principal", "string"),
    AuditField("forwarding_principal", "string"),
    AuditField("api", "string"),
    AuditField("api_version", "int"),
    AuditField("correlation_id", "int"),
    AuditField("resource", "string"),
    AuditField("error", "string"),
    AuditField("reason", "string"),
    AuditField("target_node", "int"),
    AuditField("expected", "string"),
    AuditField("actual", "string"),
    AuditField("count", "long"),
    AuditField("error_count", "long"),
    AuditField("duration_us", "long"),
    AuditField("max_duration_us", "long"),
    AuditField("request_bytes", "long"),
    AuditField("response_bytes", "long"),
    AuditField("window_start_ms", "long"),
    AuditField("window_end_ms", "long"),
)
