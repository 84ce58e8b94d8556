"""The audit run writes alerts of the events that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from signalbox.common.audit_event import AuditEvent, AuditKind, encode_audit_event
from signalbox.pipeline.alerts.alert_topic import AlertError, AlertTopic
from signalbox.pipeline.alerts.rules import Alert, AlertRules
from signalbox.pipeline.alerts.watch import alert_writer, event_groups, recall
from signalbox.pipeline.audit.rule_table import Rule
from signalbox.pipeline.audit.run import run_audit
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import AuditOptions
from tests.pipeline.alerts.test_alert_topic import alerts_in
from tests.pipeline.alerts.test_rules import misroute
from tests.pipeline.audit.rolled_events import events as event_rows
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


def misrouted_row(at_ms: int, count: int = 1, **facts: Any) -> dict[str, Any]:
    return {
        "kind": "misrouted", "expected": "c/1", "actual": "c/2", "timestamp_ms": at_ms, "count": count, **facts
    }  # fmt: skip


class FailsOnce(AlertTopic):
    """Keeps the alerts in memory; the first write fails, as after a lost connection."""

    def __init__(self) -> None:
        self.fails = True
        self.alerts: list[Alert] = []

    def write(self, alerts: Iterable[Alert]) -> int:
        if self.fails:
            self.fails = False
            raise AlertError("no acknowledgement")
        written = list(alerts)
        self.alerts += written
        return len(written)


@pytest.mark.spec("P12")
def test_misroutes_of_a_day_in_one_batch_are_no_storm(spark: SparkSession) -> None:
    spread = [misrouted_row(number * 100_000) for number in range(120)]
    assert AlertRules().alerts(event_groups(event_rows(spark, *spread))) == []
    clients = [misrouted_row(7_000_000 + number, client_id=f"c{number}", seq=500 + number) for number in range(100)]
    groups = event_groups(event_rows(spark, *spread, *reversed(clients)))
    assert len(groups) == 120, "clients add no groups, and the storm is in a slice that has a misroute"
    (alert,) = AlertRules().alerts(groups)
    assert (alert.rule, alert.count, alert.first_ms, alert.last_ms) == (Rule.MISROUTE_STORM, 101, 7_000_000, 7_000_099)


@pytest.mark.spec("P12")
def test_a_run_recalls_the_last_minute_of_each_broker(spark: SparkSession) -> None:
    earlier = event_rows(spark, misrouted_row(3_600_000, broker_id=2), misrouted_row(0, 70), misrouted_row(100_000, 60))
    rules = AlertRules()
    recall(rules, earlier)
    assert rules.copied().alerts([misroute(39, 110_000)]) == []
    (alert,) = rules.alerts([misroute(40, 110_000)])
    assert alert.count == 100


@pytest.mark.spec("P12")
def test_what_a_batch_shows_counts_once_and_when_its_alerts_are_written(spark: SparkSession) -> None:
    topic = FailsOnce()
    write = alert_writer(AlertRules(), topic, lambda _: None)
    storm = event_rows(spark, misrouted_row(1_000, 100))
    with pytest.raises(AlertError):
        write(storm, 0)
    write(storm, 0)
    assert [alert.count for alert in topic.alerts] == [100], "it was not written before"
    few = event_rows(spark, misrouted_row(200_000, 60))
    write(few, 1)
    write(few, 1)
    assert len(topic.alerts) == 1, "the misroutes of a repeated batch count once"
    write(event_rows(spark, misrouted_row(201_000, 40)), 2)
    assert [alert.count for alert in topic.alerts] == [100, 100]
