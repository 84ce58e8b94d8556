"""The roll-up statements over a few events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from signalbox.common.audit_event import AUDIT_FIELDS
from signalbox.pipeline.audit.event_table import event_ddl
from signalbox.pipeline.audit.rollups import ROLLUPS, renew_rollups, rollup_path
from signalbox.pipeline.sinks.delta_log import read_table

pytestmark = pytest.mark.spec("P1")


def events(spark: SparkSession, *changed: dict[str, Any]) -> DataFrame:
    known: dict[str, Any] = {column.name: "" if column.type == "string" else -1 for column in AUDIT_FIELDS}
    known.update(schema=1, broker_id=1, broker_epoch=7, kind="rollup", timestamp_ms=1000, count=1, error_count=0)
    known.update(listener="CLIENT", plane="data", client_id="shop", principal="User:alice", api="FETCH", api_version=17)
    known.update(request_bytes=10, response_bytes=100)
    ddl = event_ddl().replace(" NOT NULL", "")
    names = [column.split()[0].strip("`") for column in ddl.split(", ")]
    rows = [{**known, "seq": seq, **change} for seq, change in enumerate(changed)]
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], ddl)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "events"


def rows(table: Path, rollup: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(rollup_path(table, rollup)).to_pylist()
    return found


def test_every_rollup_is_a_table_even_without_events(spark: SparkSession, table: Path) -> None:
    renew_rollups(events(spark), table)
    assert {name: rows(table, name) for name in ROLLUPS} == {name: [] for name in ROLLUPS}


def test_durations_that_were_not_measured_stay_out_of_the_mean(spark: SparkSession, table: Path) -> None:
    measured = {"count": 4, "duration_us": 400, "max_duration_us": 150}
    renew_rollups(events(spark, measured, {"count": 6}), table)
    (row,) = rows(table, "requests")
    assert (row["requests"], row["mean_us"], row["max_us"], row["request_bytes"]) == (10, 100, 150, 20)


def test_a_forwarded_request_is_counted_once_on_the_clients_broker(spark: SparkSession, table: Path) -> None:
    there = {"kind": "forwarded", "api": "CREATE_TOPICS", "target_node": 2}
    here = {"kind": "admin", "api": "CREATE_TOPICS", "broker_id": 2, "forwarding_principal": "User:broker"}
    renew_rollups(events(spark, there, here), table)
    assert [(row["broker_id"], row["requests"]) for row in rows(table, "requests")] == [(1, 1)]
    assert [row["target_node"] for row in rows(table, "forwarded")] == [2]
    assert [row["broker_id"] for row in rows(table, "decided")] == [2]


def test_a_client_has_the_software_name_of_its_connection(spark: SparkSession, table: Path) -> None:
    opened = {"kind": "connection_open", "connection_id": "c1", "client_id": "", "client_software": ""}
    asked = {"connection_id": "c1", "client_software": "librdkafka/2.16.1"}
    silent = {"connection_id": "c2", "client_software": ""}
    renew_rollups(events(spark, opened, asked, silent), table)
    found = {row["client_software"]: (row["client_id"], row["connections"]) for row in rows(table, "clients")}
    assert found == {"librdkafka/2.16.1": ("shop", 1), "": ("shop", 1)}


def test_gaps_are_ranges_per_broker_epoch(spark: SparkSession, table: Path) -> None:
    written = [{"seq": seq} for seq in (0, 1, 5, 6, 9)] + [{"seq": seq, "broker_epoch": 8} for seq in (0, 1)]
    renew_rollups(events(spark, *written), table)
    gaps = sorted((row["broker_epoch"], row["from_seq"], row["to_seq"]) for row in rows(table, "gaps"))
    assert gaps == [(7, 2, 4), (7, 7, 8)]
    renew_rollups(events(spark, *({"seq": seq} for seq in range(3))), table)
    assert rows(table, "gaps") == []
