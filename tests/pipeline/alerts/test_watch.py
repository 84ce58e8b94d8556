"""The audit run writes alerts of the events that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind, encode_audit_event
from signalbox.pipeline.audit.run import run_audit
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import AuditOptions
from tests.pipeline.alerts.test_alert_topic import alerts_in
from tests.pipeline.topics import Topics


@pytest.mark.spec("P12")
def test_events_of_a_batch_become_alerts(engine: Engine, warehouse: Path, topics: Topics) -> None:
    common = {"listener": "CLIENT", "plane": "data", "principal": "User:alice", "client_address": "10.0.0.9:4711"}
    events = [
        AuditEvent(kind=AuditKind.ROLLUP, api="FETCH", timestamp_ms=1_000, count=5, **common),  # type: ignore[arg-type]
        AuditEvent(
            kind=AuditKind.ADMIN, listener="REPLICATION", forwarding_principal="User:broker", timestamp_ms=1_000
        ),
        *(
            AuditEvent(kind=AuditKind.MISROUTED, expected="c/1", actual="c/2", timestamp_ms=1_000 + n, count=40)
            for n in range(3)
        ),
        AuditEvent(
            kind=AuditKind.ROLLUP,
            api="FETCH",
            timestamp_ms=1_000,
            **{**common, "principal": "User:broker"},  # type: ignore[arg-type]
        ),
    ]
    topic = topics.create("watched", partitions=1)
    topics.fill(
        topic, [encode_audit_event(entry, broker_id=1, broker_epoch=5, seq=seq) for seq, entry in enumerate(events)]
    )
    name = f"alerts-{engine.profile}"
    lines: list[str] = []
    options = AuditOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, name="events", alerts_topic=name
    )
    assert run_audit(options, engine=engine, say=lines.append).complete
    alerts = {alert["rule"]: alert for alert in alerts_in(topics.bootstrap, name)}
    assert set(alerts) == {"broker_principal_on_public_listener", "misroute_storm"}
    assert alerts["misroute_storm"]["count"] == 120
    posing = alerts["broker_principal_on_public_listener"]
    assert (posing["client_address"], posing["seq"]) == ("10.0.0.9", 5)
    assert sum(line.startswith("alert: ") for line in lines) == 2


@pytest.mark.spec("P12")
def test_a_second_run_knows_what_the_first_one_has_read(engine: Engine, warehouse: Path, topics: Topics) -> None:
    common = {"listener": "CLIENT", "plane": "data", "client_address": "10.0.0.9:4711", "timestamp_ms": 1_000}
    forwarded = {"kind": AuditKind.ADMIN, "forwarding_principal": "User:broker"}
    served = {"kind": AuditKind.ROLLUP, "principal": "User:alice"}
    misrouted = {"kind": AuditKind.MISROUTED, "expected": "c/1", "actual": "c/2", "count": 60}
    posing = {"kind": AuditKind.ROLLUP, "principal": "User:broker"}
    events = [AuditEvent(**{**common, **facts}) for facts in (forwarded, served, misrouted, misrouted, posing)]  # type: ignore[arg-type]
    records = [encode_audit_event(entry, broker_id=1, broker_epoch=5, seq=seq) for seq, entry in enumerate(events)]
    topic = topics.create("recalled", partitions=1)
    name = f"alerts-recalled-{engine.profile}"
    options = AuditOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, name="events", alerts_topic=name
    )
    for part in (records[:3], records[3:]):
        topics.fill(topic, part)
        run_audit(options, engine=engine, say=lambda _: None)
    alerts = {alert["rule"]: alert for alert in alerts_in(topics.bootstrap, name)}
    assert set(alerts) == {"broker_principal_on_public_listener", "misroute_storm"}
    assert alerts["misroute_storm"]["count"] == 120
