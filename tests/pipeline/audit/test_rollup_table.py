"""The roll-up tables of a few events."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.audit.rollup_table import ROLLUPS
from tests.pipeline.audit.rolled_events import EventTable, gaps

pytestmark = pytest.mark.spec("P1")


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> EventTable:
    return EventTable(spark, tmp_path)


def test_every_rollup_is_a_table_even_without_events(table: EventTable) -> None:
    table.renew()
    assert {name: table.rows(name) for name in ROLLUPS} == {name: [] for name in ROLLUPS}


def test_durations_that_were_not_measured_stay_out_of_the_mean(table: EventTable) -> None:
    table.added({"count": 4, "duration_us": 400, "max_duration_us": 150}, {"count": 6})
    (row,) = table.rows("requests")
    assert (row["requests"], row["mean_us"], row["max_us"], row["request_bytes"]) == (10, 100, 150, 20)


def test_a_forwarded_request_is_counted_once_on_the_clients_broker(table: EventTable) -> None:
    there = {"kind": "forwarded", "api": "CREATE_TOPICS", "target_node": 2}
    here = {"kind": "admin", "api": "CREATE_TOPICS", "broker_id": 2, "forwarding_principal": "User:broker"}
    table.added(there, here)
    assert [(row["broker_id"], row["requests"]) for row in table.rows("requests")] == [(1, 1)]
    (forwarded,) = table.rows("forwarded")
    assert (forwarded["target_node"], forwarded["p50_us"], forwarded["p99_us"]) == (2, None, None), "not measured"
    assert [row["broker_id"] for row in table.rows("decided")] == [2]
    table.added(*({"kind": "forwarded", "api": "X", "duration_us": value, "seq": value} for value in range(1, 101)))
    (slow,) = (row for row in table.rows("forwarded") if row["api"] == "X")
    assert (slow["p50_us"], slow["p99_us"]) == (50, 99)


def test_a_client_has_the_software_name_of_its_connection(table: EventTable) -> None:
    table.added({"kind": "connection_open", "connection_id": "c1", "client_id": "", "client_software": ""})
    table.added(
        {"connection_id": "c1", "client_software": "librdkafka/2.16.1", "seq": 1},
        {"connection_id": "c2", "client_software": "", "seq": 2},
    )
    found = {row["client_software"]: (row["client_id"], row["connections"]) for row in table.rows("clients")}
    assert found == {"librdkafka/2.16.1": ("shop", 1), "": ("shop", 1)}


def test_a_client_with_misroutes_in_two_renewals_is_one_client(table: EventTable) -> None:
    misrouted = {"kind": "misrouted", "expected": "1", "actual": "2"}
    table.added({**misrouted}, {**misrouted, "client_id": "other"})
    table.added({**misrouted})
    (row,) = table.rows("misrouted")
    assert (row["requests"], row["clients"]) == (3, 2)


def test_gaps_are_ranges_per_broker_epoch_and_close_when_their_events_come(table: EventTable) -> None:
    table.added(*({"seq": seq} for seq in (0, 1, 5, 6, 9)), *({"seq": seq, "broker_epoch": 8} for seq in (0, 1)))
    assert gaps(table) == [(7, 2, 4), (7, 7, 8)]
    table.added({"seq": 3}, {"seq": 7}, {"seq": 8}, {"seq": 7})
    assert gaps(table) == [(7, 2, 2), (7, 4, 4)]
    sequences = {row["broker_epoch"]: row for row in table.rows("sequences")}
    assert (sequences[7]["events"], sequences[7]["distinct_seqs"], sequences[7]["last_seq"]) == (9, 8, 9)
    assert (sequences[8]["events"], sequences[8]["first_seq"]) == (2, 0)
