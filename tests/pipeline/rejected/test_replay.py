"""Rejected records are replayed once they can be decoded, whatever happens meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent
from signalbox.pipeline.options import Profile, TablesOptions
from signalbox.pipeline.rejected import listing, replay
from signalbox.pipeline.rejected.replay import ReplayResult, replay_rejected
from signalbox.pipeline.sinks.delta_log import count_rows, read_table
from signalbox.pipeline.table_state import StateError, StateFolder, TableState
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.topics import Topics


class KilledError(Exception):
    """Ends a replay at a step, as a kill would."""


def mended_file(path: Path, topic: str, values: dict[int, Any]) -> Path:
    lines = [
        json.dumps({"topic": topic, "partition": 0, "offset": offset, "value": {"text": json.dumps(value)}})
        for offset, value in values.items()
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.spec("P3", "P6")
@pytest.mark.timeout(400)
def test_records_become_rows_exactly_once_wherever_a_replay_ends(
    engine: Engine, warehouse: Path, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create("replayed", partitions=1)
    topics.fill(topic, [b'{"n":0}', b"bad", b'{"n":"x"}', b"worse"])
    options = TablesOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, schema="n INT")
    run_tables(options, engine=engine, say=lambda _: None)
    dead = warehouse / f"{topic}_dead"

    def replay(values: dict[int, Any], end_at: str = "") -> ReplayResult:
        def listener(event: PipelineEvent) -> None:
            if event.table == end_at:
                raise KilledError

        mended = mended_file(tmp_path / "mended.jsonl", topic, values)
        return replay_rejected(options, mended, engine=engine, listener=listener, say=lambda _: None)

    def numbers() -> list[Any]:
        return sorted(read_table(warehouse / topic, ["n"]).column("n").to_pylist())

    assert replay({}).as_json() == {"replayed": 0, "rejected": 3, "completed": 0, "duplicates": 0}
    # The rows are committed, their records are still among the rejected ones.
    with pytest.raises(KilledError):
        replay({1: {"n": 1}}, end_at=topic)
    assert (numbers(), count_rows(dead)) == ([0, 1], 3)
    assert replay({2: {"n": 2}}).as_json() == {"replayed": 1, "rejected": 1, "completed": 1, "duplicates": 0}
    assert (numbers(), count_rows(dead)) == ([0, 1, 2], 1)
    # Both are committed, only the plan is left.
    with pytest.raises(KilledError):
        replay({3: {"n": 3}}, end_at=f"{topic}_dead")
    assert replay({}).as_json() == {"replayed": 0, "rejected": 0, "completed": 0, "duplicates": 0}
    assert (numbers(), count_rows(dead)) == ([0, 1, 2, 3], 0)
    # The pipeline goes on where it was.
    topics.fill(topic, [b"bad again", b'{"n":5}'])
    result = run_tables(options, engine=engine, say=lambda _: None)
    assert (numbers(), result.dead_table_rows) == ([0, 1, 2, 3, 5], 1)
    rows = {row["offset"]: row["n"] for row in read_table(warehouse / topic).to_pylist()}
    assert rows == {0: 0, 1: 1, 2: 2, 3: 3, 5: 5}


def test_an_old_record_is_not_replayed_over_newer_keys(warehouse: Path) -> None:
    state = TableState(topic="t", topic_id="id", profile=Profile.PYPI, begin={}, mode="upsert")
    StateFolder(warehouse, "t").write(state)
    options = TablesOptions(bootstrap_servers="h:1", warehouse=warehouse, topic="t")
    with pytest.raises(StateError, match="produce the mended record to the topic"):
        replay_rejected(options)


def test_a_table_that_is_not_there_is_named(warehouse: Path) -> None:
    options = TablesOptions(bootstrap_servers="h:1", warehouse=warehouse, topic="nothing")
    with pytest.raises(StateError, match="there is no table nothing in"):
        replay_rejected(options)


@pytest.mark.spec("P3", "P6")
@pytest.mark.timeout(400)
def test_many_records_are_replayed_in_parts(
    engine: Engine, warehouse: Path, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_RECORDS_READ", 2)
    monkeypatch.setattr(replay, "_PART_BYTES", 1)
    topic = topics.create("replayed-in-parts", partitions=1)
    topics.fill(topic, [b"bad"] * 5)
    options = TablesOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, schema="n INT")
    run_tables(options, engine=engine, say=lambda _: None)
    mended = mended_file(tmp_path / "mended.jsonl", topic, {offset: {"n": offset} for offset in range(4)})
    commits: list[str] = []

    def kill_at_the_third(event: PipelineEvent) -> None:
        commits.append(str(event.table))
        if len(commits) == 3:
            raise KilledError

    with pytest.raises(KilledError):
        replay_rejected(options, mended, engine=engine, listener=kill_at_the_third, say=lambda _: None)
    assert commits == [topic, f"{topic}_dead", topic]
    assert count_rows(warehouse / f"{topic}_dead") == 3
    lines: list[str] = []
    result = replay_rejected(options, mended, engine=engine, say=lines.append)  # as the user repeats the command
    assert "4 of 4 mended values are left out" in lines[0]
    assert result.as_json() == {"replayed": 0, "rejected": 1, "completed": 2, "duplicates": 0}
    assert sorted(read_table(warehouse / topic, ["n"]).column("n").to_pylist()) == [0, 1, 2, 3]
