"""Options of the commands with a Spark run."""

from __future__ import annotations

import re
from urllib.request import urlopen

import pytest
import typer

from signalbox.cli.pipeline_runs.run_options import position_of, reported_run, seconds_of, spark_options
from signalbox.pipeline.events import PipelineEvent, Step


@pytest.mark.spec("P9")
@pytest.mark.parametrize(
    ("text", "seconds"), [(None, None), ("10s", 10), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5", 1.5)]
)
def test_intervals(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["soon", "10 s", "-1s", "s"])
def test_other_intervals_end_the_command(text: str) -> None:
    with pytest.raises(typer.Exit):
        seconds_of(text)


@pytest.mark.spec("P7")
def test_a_position_comes_from_offsets_or_a_time() -> None:
    assert position_of("starting", None, None) is None
    assert position_of("starting", "latest", None) == "latest"
    assert position_of("ending", None, "1795719600000") == "@1795719600000"


@pytest.mark.spec("P9")
def test_settings_of_spark_are_passed_through_and_win() -> None:
    assert spark_options(None, False) == {}
    assert spark_options(["spark.a=b=c"], True) == {"spark.ui.enabled": "true", "spark.a": "b=c"}
    assert spark_options(["spark.ui.enabled=false"], True) == {"spark.ui.enabled": "false"}


@pytest.mark.spec("P9")
def test_a_run_reports_lines_and_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    with reported_run(as_json=True, metrics_port=0) as report:
        done = PipelineEvent(
            step=Step.BATCH_DONE, pipeline="t", batch_id=0, rows=4, dead_rows=0, consumed_records=4, known_records=4
        )
        report.listener(done)
        captured = capsys.readouterr()
        assert captured.out == ""
        address = re.search(r"metrics: (http://127.0.0.1:\d+/metrics)", captured.err)
        assert address is not None
        assert b'signalbox_pipeline_rows_total{table="t"} 4.0' in urlopen(address[1], timeout=60).read()
