"""Bars on a terminal, lines elsewhere."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from signalbox.cli.pipeline_runs.progress_bar import shown_progress
from signalbox.pipeline.events import PipelineEvent, Step


def event(table: str, **facts: Any) -> PipelineEvent:
    return PipelineEvent(**{"step": Step.WAITING, "pipeline": table, "batch_id": 0, **facts})


@pytest.mark.spec("P9")
def test_a_terminal_shows_a_bar_per_table_below_the_lines() -> None:
    output = StringIO()
    with shown_progress(Console(file=output, force_terminal=True, width=100)) as (say, bars):
        assert bars is not None
        bars(event("starting"))
        bars(event("flights", consumed_records=5, known_records=20))
        bars(event("airports", consumed_records=3, known_records=3))
        say("flights: batch 0  5 rows [1]")
    text = output.getvalue()
    assert "flights: batch 0  5 rows [1]" in text
    assert "5/20" in text
    assert "3/3" in text
    assert "starting" not in text


@pytest.mark.spec("P9")
def test_elsewhere_there_are_lines_only_and_none_is_wrapped() -> None:
    output = StringIO()
    with shown_progress(Console(file=output, width=20)) as (say, bars):
        assert bars is None
        say("flights: batch 0  5 rows, 0.4 s, 12 records/s")
    assert output.getvalue() == "flights: batch 0  5 rows, 0.4 s, 12 records/s\n"
