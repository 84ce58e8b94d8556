"""Produced by one client, consumed by a group of another, each record once."""

from __future__ import annotations

from contextlib import suppress

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.cli.demo import records
from signalbox.cli.demo.flights import Flights
from signalbox.cli.demo.stage import CheckFailed, Stage

SAMPLE = Flights([], [(f"k{n % 7}".encode(), f'{{"id":{n}}}'.encode()) for n in range(500)])


def test_there_and_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "TOPIC", "sample")
    monkeypatch.setattr(records, "FLIGHTS", len(SAMPLE.records))
    admin = AdminClient({"bootstrap.servers": stage.cluster.bootstrap()})
    admin.create_topics([NewTopic("sample", 4, replication_factor=3)])["sample"].result(20)
    records.produce_flights(stage, SAMPLE)
    assert stage.facts["produce"]["records"] == 500
    with suppress(CheckFailed):  # the first member may read all of them before the second has joined
        records.read_back(stage, SAMPLE)
    assert "every flight read exactly once by the group" in [check.claim for check in stage.checks[-2:]]
    assert sum(stage.facts["read_back"]["members"]) == 500
