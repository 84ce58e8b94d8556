"""Progress lines for a person who waits."""

from __future__ import annotations

import pytest

from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.observe.progress import ProgressLines, duration_text


def event(step: Step, **facts: object) -> PipelineEvent:
    return PipelineEvent(step=step, pipeline="flights", **{"batch_id": 3, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.2 s"), (12.4, "12 s"), (185, "3 min 05 s"), (7860, "2 h 11 min")]
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_batch_is_a_line_with_rate_share_and_rest() -> None:
    printed: list[str] = []
    lines = ProgressLines(printed.append)
    lines(event(Step.BATCH_STARTED))
    lines(
        event(Step.BATCH_DONE, rows=990, dead_rows=10, seconds=2.0, consumed_records=1000, known_records=4000),
    )
    assert printed == [
        "flights: batch 3  990 rows, 10 bad records kept aside, 2.0 s, 500 records/s, 1,000 of 4,000 records (25 %), "
        "about 6.0 s to go"
    ]


def test_late_records_and_duplicates_are_counted_apart() -> None:
    done = event(Step.BATCH_DONE, rows=5, dead_rows=3, late_rows=2, duplicate_rows=4, seconds=0.0)
    line = ProgressLines(print).line(done) or ""
    assert "5 rows, 1 bad records kept aside, 2 late records kept aside, 4 duplicates dropped, 0.0 s" in line


def test_a_batch_already_in_the_table_is_reported() -> None:
    line = ProgressLines(print).line(event(Step.TABLE_COMMITTED, table="flights", skipped=True))
    assert line == "flights: batch 3  flights holds it already (a run died after that commit): not repeated"


def test_a_gap_is_reported_with_its_offsets() -> None:
    line = ProgressLines(print).line(event(Step.RECORDS_LOST, detail="partition 0, offsets 10 to 14"))
    assert line is not None
    assert line.startswith("flights: batch 3  GAP: ")
    assert line.endswith(": partition 0, offsets 10 to 14")


def test_a_long_batch_shows_life_and_an_idle_stream_is_silent() -> None:
    lines = ProgressLines(print)
    working = event(Step.WAITING, seconds=31.0, consumed_records=10, known_records=20)
    idle = event(Step.WAITING, seconds=0.0, consumed_records=20, known_records=20)
    assert lines.line(working) == "flights: batch 3  working for 31 s, reading up to 10 of 20 records (50 %)"
    assert lines.line(idle) is None
    assert lines.line(event(Step.WAITING, batch_id=-1)) == "flights: starting"
