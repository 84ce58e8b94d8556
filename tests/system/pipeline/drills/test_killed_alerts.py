"""The audit run on a Spark cluster, killed before and after its alerts: none is lost, and the tables are complete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind, encode_audit_event
from signalbox.pipeline.sinks.delta_log import count_rows
from signalbox.testing.zookeeper import QUICK_JAVA
from tests.pipeline.alerts.test_alert_topic import alerts_in
from tests.pipeline.topics import Topics
from tests.system.pipeline.drivers import Driver
from tests.system.pipeline.spark_cluster import spark_cluster

EVENTS = 40
PER_BATCH = 10


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    with spark_cluster(tmp_path / "cluster") as address:
        yield address


def audit_records_of(listeners: int) -> list[bytes]:
    """In each batch a broker uses a listener of clients, a different one each time. Only the first
    batch shows that its principal is a broker's."""
    events = []
    for seq in range(EVENTS):
        kind = {"kind": AuditKind.ROLLUP, "api": "FETCH", "timestamp_ms": 1_000 + seq, "plane": "data"}
        listener = f"CLIENT{seq // (EVENTS // listeners)}"
        principal = "User:broker" if seq % PER_BATCH == 5 else "User:alice"
        events.append(AuditEvent(listener=listener, principal=principal, **kind))  # type: ignore[arg-type]
    forwarded = AuditEvent(
        kind=AuditKind.ADMIN, listener="REPLICATION", forwarding_principal="User:broker", timestamp_ms=1_000
    )
    return [
        encode_audit_event(event, broker_id=1, broker_epoch=5, seq=seq)
        for seq, event in enumerate([forwarded, *events])
    ]


@pytest.mark.spec("P12", "P11")
@pytest.mark.timeout(400)
def test_no_alert_is_lost_whenever_the_driver_is_killed(topics: Topics, tmp_path: Path, master: str) -> None:
    topic = topics.create("killed-alerts", partitions=1)
    topics.fill(topic, audit_records_of(EVENTS // PER_BATCH))
    options: dict[str, Any] = {
        "bootstrap_servers": topics.bootstrap,
        "warehouse": str(tmp_path / "warehouse"),
        "topic": topic,
        "name": "events",
        "alerts_topic": "alerts-of-killed-runs",
        "profile": "pypi",
        "master": master,
        "memory": "512m",
        "quick": True,
        "max_records_per_batch": PER_BATCH,
        "spark_options": {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "2",
            "spark.executor.extraJavaOptions": " ".join(QUICK_JAVA),
        },
    }
    # The alert of batch 1 is not written yet; then the alert and the rows of batch 2 are, and the batch has not ended.
    for batch_id, step, rows in ((1, "batch_read", PER_BATCH), (2, "table_committed", 3 * PER_BATCH)):
        killed_at = {"step": step, "batch_id": batch_id}
        driver = Driver(tmp_path / f"{batch_id}.log", options, killed_at, instead={"audit": True})
        assert driver.wait() == -9, driver.output()[-3000:]
        assert count_rows(tmp_path / "warehouse" / "events") == rows
    result = Driver(tmp_path / "end.log", options, instead={"audit": True}).result()
    assert result["complete"], result
    alerts = alerts_in(topics.bootstrap, "alerts-of-killed-runs")
    assert {alert["listener"] for alert in alerts} == {f"CLIENT{number}" for number in range(EVENTS // PER_BATCH)}
    repeated = [alert["seq"] for alert in alerts]
    assert len(repeated) >= len(set(repeated)) == EVENTS // PER_BATCH, "a repeated batch repeats the same alert"
