"""Texts that both committers use."""

from __future__ import annotations

import json
from pathlib import Path

from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget, transaction_app


def test_applications_differ_by_pipeline_generation_and_table() -> None:
    names = {transaction_app(*parts) for parts in (("p", 1, "t"), ("p", 2, "t"), ("p", 1, "u"), ("q", 1, "t"))}
    assert len(names) == 4
    assert transaction_app("flights", 1, "flights_dead") == "signalbox/flights/1/flights_dead"


def test_a_stamp_is_readable_metadata() -> None:
    assert json.loads(BatchStamp(4, {"to": {"t:0": 9}}).metadata()) == {"batch_id": 4, "to": {"t:0": 9}}
    assert TableTarget(Path("/w/flights"), "app").name == "flights"
