"""Events of a run become metrics on a page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.request import urlopen

import pytest

from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.observe.run_metrics import MetricsPortError, RunMetrics


def event(step: Step, **facts: Any) -> PipelineEvent:
    return PipelineEvent(**{"step": step, "pipeline": "flights", "batch_id": 0, **facts})


@pytest.mark.spec("P8", "P9")
def test_rows_rejected_records_lag_and_seconds_are_on_the_page() -> None:
    metrics = RunMetrics()
    metrics(event(Step.BATCH_STARTED, consumed_records=10, known_records=25))
    done = event(Step.BATCH_DONE, rows=9, dead_rows=1, seconds=3.0, consumed_records=10, known_records=25)
    metrics(replace(done, late_rows=1, duplicate_rows=2))
    metrics(
        event(Step.BATCH_DONE, rows=0, dead_rows=0, skipped=True, seconds=0.1, consumed_records=20, known_records=25)
    )
    metrics(event(Step.SCHEMA_CHANGED, detail="value: column a int added"))
    metrics(event(Step.TYPE_CHANGED, detail="value: a is int in the table, string now"))
    with metrics.served(0) as port:
        page = urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60).read().decode()
        with pytest.raises(MetricsPortError, match=f"metrics cannot be served at 127.0.0.1:{port}: Address already"):
            metrics.served(port).__enter__()
    lines = page.splitlines()
    for line in (
        'signalbox_pipeline_rows_total{table="flights"} 9.0',
        'signalbox_pipeline_rejected_records_total{table="flights"} 1.0',
        'signalbox_pipeline_late_records_total{table="flights"} 1.0',
        'signalbox_pipeline_duplicate_records_total{table="flights"} 2.0',
        'signalbox_pipeline_batches_total{table="flights"} 2.0',
        'signalbox_pipeline_repeated_batches_total{table="flights"} 1.0',
        'signalbox_pipeline_schema_changes_total{table="flights"} 1.0',
        'signalbox_pipeline_type_changes_total{table="flights"} 1.0',
        'signalbox_pipeline_lag_records{table="flights"} 5.0',
        'signalbox_pipeline_batch_seconds_count{table="flights"} 2.0',
        'signalbox_pipeline_batch_seconds_bucket{le="5.0",table="flights"} 2.0',
    ):
        assert line in lines


def test_a_table_that_has_not_begun_has_no_lag() -> None:
    metrics = RunMetrics()
    metrics(event(Step.WAITING))
    assert metrics.registry.get_sample_value("signalbox_pipeline_lag_records", {"table": "flights"}) is None
