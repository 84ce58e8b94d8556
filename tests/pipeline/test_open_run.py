"""Opening a run: its lock, and the order in which faults are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Reporting
from signalbox.pipeline.offsets import OffsetMap
from signalbox.pipeline.open_run import TablePlan, open_run, reject_other_partitions
from signalbox.pipeline.options import OptionError, Profile, RunOptions
from signalbox.pipeline.sinks.delta_log import TableFiles, ensure_table
from signalbox.pipeline.table_state import StateError, StateFolder, TableState
from signalbox.pipeline.tables.projection import RecordShape
from tests.pipeline.topics import Topics, json_values


def plan(topic: str) -> TablePlan:
    return TablePlan("t", topic, None, lambda _: None, lambda _: RecordShape())


def quiet(_: str) -> None:
    """Discards the progress lines."""


def test_an_open_run_holds_the_lock_and_receives_its_events(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("open", partitions=1)
    topics.fill(topic, json_values(0, 3))
    events: list[PipelineEvent] = []
    lines: list[str] = []
    options = RunOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse)
    with open_run(options, plan(topic), engine, Reporting(lines.append, events.append)) as run:
        with (
            pytest.raises(StateError, match="is being run by"),
            open_run(options, plan(topic), engine, Reporting(quiet)),
        ):
            raise AssertionError("two runs of one table")
        counts = run.run()
    assert isinstance(run.good_target.path, Path)
    assert (counts.rows, run.consumed(), run.rows_of(TableFiles(run.good_target.path).all()).count()) == (3, 3, 3)
    assert events[-1].rows == 3
    assert any("3 rows" in line for line in lines)
    state = StateFolder(warehouse, "t").read()
    assert state is not None
    assert (state.topic, state.begin) == (topic, {f"{topic}:0": 0})


def test_invalid_options_release_all_resources(engine: Engine, warehouse: Path) -> None:
    options = RunOptions(bootstrap_servers="", warehouse=warehouse)
    with pytest.raises(OptionError), open_run(options, plan("t"), engine, Reporting(quiet)):
        raise AssertionError("a run without servers")
    assert not warehouse.exists()


class _NoTopics:
    """Stands for the cluster: one topic with one partition."""

    def __init__(self, *_: object) -> None:
        return

    def partitions(self, topics: list[str]) -> tuple[dict[str, str], list[TopicPartition]]:
        return dict.fromkeys(topics, "id"), [TopicPartition(topic, 0) for topic in topics]

    def offsets(self, topics: list[str], _: str) -> OffsetMap:
        return OffsetMap(dict.fromkeys(topics, "id"), {TopicPartition(topic, 0): 0 for topic in topics})


@pytest.mark.spec("P8")
def test_other_partition_columns_than_the_tables_are_rejected_before_spark_starts(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns: list[dict[str, Any]] = [
        {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("a", "b")
    ]
    ensure_table(warehouse / "t", {"type": "struct", "fields": columns}, ["a"])
    monkeypatch.setattr("signalbox.pipeline.open_run.TopicClient", _NoTopics)
    monkeypatch.setattr("signalbox.pipeline.open_run.open_engine", None)
    options = RunOptions(bootstrap_servers="b:1", warehouse=warehouse)
    with (
        pytest.raises(StateError, match=r"table t is partitioned by a, not by b, a: leave out"),
        open_run(options, replace(plan("t"), partition_by=("b", "a")), None, Reporting(quiet)),
    ):
        raise AssertionError("a run with other partitions")
    reject_other_partitions(warehouse / "t", ("a",))
    reject_other_partitions(warehouse / "t", ())
    reject_other_partitions(warehouse / "none", ("a",))


def test_a_schema_that_does_not_fit_is_rejected_before_spark_starts(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = TableState(topic="t", topic_id="id", profile=Profile.PYPI, begin={"t:0": 0})
    StateFolder(warehouse, "t").write(state)
    monkeypatch.setattr("signalbox.pipeline.open_run.TopicClient", _NoTopics)
    monkeypatch.setattr("signalbox.pipeline.open_run.open_engine", None)
    options = RunOptions(bootstrap_servers="b:1", warehouse=warehouse)
    other = replace(plan("t"), schema="n STRING")
    with (
        pytest.raises(StateError, match=r"was begun without declared fields, asked for is \[n STRING\]"),
        open_run(options, other, None, Reporting(quiet)),
    ):
        raise AssertionError("a run with another schema")
