"""No two pipelines of a warehouse have a table in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import AuditOptions, Profile, TablesOptions
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.table_state import StateError, StateFolder, TableState
from signalbox.pipeline.tables.run import run_tables
from signalbox.pipeline.tables.table_names import reject_taken_names, taken_in_run
from signalbox.pipeline.topic_set.run import run_topics
from signalbox.pipeline.topic_set.selection import TopicSelection
from tests.pipeline.topics import Topics, json_values

pytestmark = pytest.mark.spec("P4")


def begin(warehouse: Path, name: str, topic: str = "") -> None:
    state = TableState(topic=topic or name, topic_id="id", profile=Profile.PYPI, begin={})
    StateFolder(warehouse, name).write(state)


@pytest.mark.parametrize(
    ("begun", "name", "fault"),
    [
        ("flights", "flights_dead", r"flights_dead is the table of the rejected records of table flights: .*--name"),
        ("flights_dead", "flights", r"rejected records of table flights would go to flights_dead, .*--name"),
    ],
)
def test_a_table_of_rejected_records_has_its_name_alone(tmp_path: Path, begun: str, name: str, fault: str) -> None:
    begin(tmp_path, begun)
    with pytest.raises(StateError, match=fault):
        reject_taken_names(tmp_path, name, is_audit=False)
    reject_taken_names(tmp_path, begun, is_audit=False)
    reject_taken_names(tmp_path, f"{name}s", is_audit=False)


def test_a_roll_up_has_its_name_alone(tmp_path: Path) -> None:
    begin(tmp_path / "a", "audit_events", AUDIT_TOPIC)
    with pytest.raises(StateError, match=r"audit_events_requests is a roll-up of the audit trail .*--name"):
        reject_taken_names(tmp_path / "a", "audit_events_requests", is_audit=False)
    begin(tmp_path / "b", "audit_events_gaps")
    with pytest.raises(StateError, match=r"would replace the table audit_events_gaps of a topic: .*--warehouse"):
        reject_taken_names(tmp_path / "b", "audit_events", is_audit=True)
    reject_taken_names(tmp_path / "b", "audit_events", is_audit=False)
    begin(tmp_path / "c", "audit_events")
    reject_taken_names(tmp_path / "c", "audit_events_requests", is_audit=False)
    begin(tmp_path / "d", "audit_events_dead")
    with pytest.raises(StateError, match=r"rejected records of table audit_events .*--warehouse"):
        reject_taken_names(tmp_path / "d", "audit_events", is_audit=True)


def test_the_tables_of_one_run(tmp_path: Path) -> None:
    assert list(taken_in_run(tmp_path, ["a_dead", "a", "b_dead", "a_dead_dead"])) == ["a_dead", "a_dead_dead"]
    begin(tmp_path, "a_dead")
    assert list(taken_in_run(tmp_path, ["a_dead", "a"])) == []


def test_a_pattern_with_both_names_writes_the_first_alone(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create(f"flights-{engine.profile}", partitions=1)
    topics.create_named(f"{topic}_dead", 1)
    topics.fill(topic, [*json_values(0, 3), b"bad"])
    topics.fill(f"{topic}_dead", json_values(7, 9))
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic="", schema="n INT", max_records_per_batch=100
    )
    result = run_topics(options, TopicSelection.of([], f"{topic}.*"), engine=engine, say=lambda _: None)
    assert list(result.failed) == [f"{topic}_dead"]
    assert "--name" in result.failed[f"{topic}_dead"]
    assert result.tables[topic].dead_table_rows == 1
    alone = TablesOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=f"{topic}_dead", name="kept", schema="n INT"
    )
    run_tables(alone, engine=engine, say=lambda _: None)
    assert sorted(read_table(warehouse / "kept", ["n"]).column("n").to_pylist()) == [7, 8]


def test_an_audit_run_looks_for_tables_with_names_of_its_roll_ups(
    warehouse: Path, topics: Topics, engine: Engine
) -> None:
    from signalbox.pipeline.audit.run import run_audit

    topic = topics.create("events", partitions=1)
    begin(warehouse, "audit_events_kinds")
    options = AuditOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic)
    with pytest.raises(StateError, match="would replace the table audit_events_kinds"):
        run_audit(options, engine=engine, say=lambda _: None)
