"""The audit trail becomes tables and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind, encode_audit_event
from signalbox.pipeline.audit.figures import read_figures
from signalbox.pipeline.audit.run import AuditResult, run_audit
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import AuditOptions, Profile
from signalbox.pipeline.sinks.delta_log import read_table
from tests.pipeline.topics import Topics

pytestmark = pytest.mark.spec("P1")

BEGUN_MS = 1_760_000_000_000


def event(kind: AuditKind, seq: int, **facts: Any) -> AuditEvent:
    known: dict[str, Any] = {
        "timestamp_ms": BEGUN_MS + seq * 1000,
        "listener": "CLIENT",
        "plane": "data",
        "client_id": "shop",
        "connection_id": "c1",
        "principal": "User:alice",
    }
    return AuditEvent(kind=kind, **{**known, **facts})


def audit_records(broker_id: int, events: list[AuditEvent], skipped: tuple[int, ...] = ()) -> list[bytes]:
    return [
        encode_audit_event(entry, broker_id=broker_id, broker_epoch=5, seq=seq)
        for seq, entry in enumerate(events)
        if seq not in skipped
    ]


FIRST_BROKER = [
    event(AuditKind.CONNECTION_OPEN, 0, client_software="librdkafka/2.16.1"),
    event(
        AuditKind.ROLLUP,
        1,
        api="PRODUCE",
        api_version=11,
        count=40,
        error_count=2,
        duration_us=4000,
        max_duration_us=900,
    ),
    event(AuditKind.ROLLUP, 2, api="PRODUCE", api_version=11, count=60, duration_us=8000, max_duration_us=700),
    event(
        AuditKind.FORWARDED, 3, api="CREATE_TOPICS", api_version=7, target_node=2, correlation_id=9, duration_us=5000
    ),
    event(AuditKind.REJECTED, 4, api="METADATA", plane="control", listener="CONTROL", reason="data API"),
    event(AuditKind.MISROUTED, 5, api="API_VERSIONS", expected="c/1", actual="c/2", error="REBOOTSTRAP_REQUIRED"),
]
SECOND_BROKER = [
    event(
        AuditKind.ADMIN,
        0,
        api="CREATE_TOPICS",
        api_version=7,
        resource="orders",
        forwarding_principal="User:broker-1",
        listener="REPLICATION",
        correlation_id=9,
        duration_us=3000,
    ),
    event(AuditKind.ADMIN, 1, api="ALTER_CONFIGS", api_version=2, error="POLICY_VIOLATION", duration_us=100),
    event(AuditKind.CONNECTION_CLOSE, 2),
]


def run(engine: Engine, warehouse: Path, topics: Topics, topic: str) -> AuditResult:
    options = AuditOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, profile=engine.profile)
    return run_audit(options, engine=engine, say=lambda _: None)


def only(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    (row,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return row


def test_a_complete_audit_trail_becomes_events_and_figures(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("audit")
    topics.fill(topic, audit_records(1, FIRST_BROKER) + audit_records(2, SECOND_BROKER))
    result = run(engine, warehouse, topics, topic)
    figures = result.figures
    assert result.complete
    assert figures["completeness"]["topic_records"] == figures["completeness"]["table_rows"] == 9
    assert [broker["last_seq"] for broker in figures["completeness"]["brokers"]] == [5, 2]

    produced = only(figures["requests"], api="PRODUCE")
    assert (produced["requests"], produced["errors"], produced["mean_us"], produced["max_us"]) == (100, 2, 120, 900)
    forwarded = only(figures["forwarded"], broker_id=1)
    assert (forwarded["api"], forwarded["target_node"], forwarded["p50_us"]) == ("CREATE_TOPICS", 2, 5000)
    decided = only(figures["decided"], api="CREATE_TOPICS")
    assert (decided["broker_id"], decided["forwarding_principal"]) == (2, "User:broker-1")
    assert [row["broker_id"] for row in figures["requests"] if row["api"] == "CREATE_TOPICS"] == [1]
    assert only(figures["requests"], api="ALTER_CONFIGS")["errors"] == 1
    assert only(figures["rejected"], kind="rejected")["listener"] == "CONTROL"
    assert (figures["misrouted"][0]["expected"], figures["misrouted"][0]["actual"]) == ("c/1", "c/2")
    assert only(figures["clients"], client_software="librdkafka/2.16.1")["connections"] == 1
    assert figures["latency"][0]["window_ms"] % 10_000 == 0
    assert figures["totals"] == {
        "requests": 102,
        "forwarded": 1,
        "rejected": 1,
        "denied": 0,
        "misrouted": 1,
        "connections": 1,
        "first_ms": BEGUN_MS,
        "last_ms": BEGUN_MS + 5000,
    }
    assert json.loads(json.dumps(figures)) == figures == read_figures(warehouse, "audit_events", warehouse)


@pytest.mark.parametrize("engine", [Profile.PYPI], indirect=True)
def test_gaps_and_bad_events_show_and_the_next_run_goes_on(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("audit")
    topics.fill(topic, [*audit_records(1, FIRST_BROKER, skipped=(2, 3)), b"no event"])
    first = run(engine, warehouse, topics, topic)
    assert not first.complete
    assert (first.rows, first.dead_rows) == (4, 1)
    (broker,) = first.figures["completeness"]["brokers"]
    assert (broker["gaps"], broker["missing"], broker["whole"]) == ([[2, 3]], 2, False)
    topics.fill(topic, audit_records(1, FIRST_BROKER)[2:4] + audit_records(2, SECOND_BROKER)[:1])
    newer = b'{"schema":2,"broker_id":2,"broker_epoch":5,"seq":1,"kind":"admin"}'
    topics.fill(topic, [newer])
    second = run(engine, warehouse, topics, topic)
    assert second.complete
    assert second.figures["completeness"]["dead_rows"] == 2
    reasons = sorted(read_table(second.dead_table).column("reason").to_pylist())
    assert reasons == ["newer_schema:2", "not_json"]
