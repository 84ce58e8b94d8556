"""A job names its folder of batches and its transactions: a backfill has its own of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from signalbox.pipeline.options import Profile
from signalbox.pipeline.positions.backfill_log import Backfill
from signalbox.pipeline.table_job import RunCounts, TableJob, WrittenRows
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.tables.projection import RecordShape


def test_a_backfill_has_batches_and_transactions_of_its_own(tmp_path: Path) -> None:
    state = TableState(topic="t", topic_id="id", profile=Profile.PYPI, begin={"t:0": 5}, generation=2)
    job = TableJob(StateFolder(tmp_path, "n"), state, RecordShape())
    backfill = replace(job, backfill=Backfill(number=3, start={"t:0": 1}, end={"t:0": 5}))
    assert (job.begin, backfill.begin) == ({"t:0": 5}, {"t:0": 1})
    assert job.checkpoint == tmp_path / ".signalbox" / "n" / "checkpoint"
    assert backfill.checkpoint != job.checkpoint
    target, backfilled = job.target(tmp_path, "n_dead"), backfill.target(tmp_path, "n_dead")
    assert target.path == backfilled.path == tmp_path / "n_dead"
    assert target.transaction_app == "signalbox/n/2/n_dead"
    assert backfilled.transaction_app == f"signalbox/n/{backfill.backfill.folder}/2/n_dead" if backfill.backfill else ""


def test_counts_add_up() -> None:
    counts = RunCounts()
    counts.add(WrittenRows(10, dead=3, late=1, duplicates=2))
    counts.add(WrittenRows(None))
    assert counts == RunCounts(batches=2, repeated_batches=1, rows=10, dead_rows=3, late_rows=1, duplicate_rows=2)
