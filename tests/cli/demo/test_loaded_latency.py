"""The recorded figures of the report are those of the recorded runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signalbox.cli.demo.loaded_latency import RECORDED, Recorded, latency_caption, recorded_rows

HISTORY = Path(__file__).parents[3] / "bench" / "history"


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row.cluster}-{row.run}")
def test_a_figure_is_that_of_its_run(row: Recorded) -> None:
    run = json.loads((HISTORY / f"{row.run}.json").read_text())
    metric = f"{row.cluster}: ElectLeaders to accepted produce, saturated / idle, p99"
    [recorded] = [entry for entry in run["rows"] if entry["metric"] == metric]
    assert recorded["unit"] == "ms"
    assert (recorded["ours"], recorded["reference"]) == pytest.approx((row.loaded_ms, row.idle_ms), abs=0.05)


def test_the_run_is_the_newest_complete_one() -> None:
    runs = sorted(HISTORY.glob("*-bench-planes-*.json"))
    complete = [run.stem for run in runs if json.loads(run.read_text()).get("complete")]
    assert {row.run for row in RECORDED} == {complete[-1]}


def test_rows_for_readers() -> None:
    assert recorded_rows()[0] == {
        "cluster": "Apache Kafka 4.4.0",
        "date": "2026-11-27",
        "idle, p99 ms": "46.5",
        "saturated, p99 ms": "179.0",
        "times slower": "3.8",
    }


def test_the_caption_counts_the_dots_and_the_round_trips_and_says_what_load_does() -> None:
    caption = latency_caption({"idle": [1.0], "while producing": [float(n) for n in range(1, 1000)]})
    assert "idle: 1 round trip; while producing: 999 round trips. At most 400 evenly chosen dots a line" in caption
    assert "Here p99 is 990.0 times that of the idle cluster." in caption
    assert "Here p99" not in latency_caption({"idle": []})
