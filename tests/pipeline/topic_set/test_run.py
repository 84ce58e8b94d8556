"""Several topics in one run: sequentially or together, independent of each other."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import Profile, TablesOptions
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.topic_client import TopicError
from signalbox.pipeline.topic_set.run import _Tables, begun_profile, run_topics
from signalbox.pipeline.topic_set.selection import TopicSelection
from tests.pipeline.topics import Topics, json_values


def options(**more: Any) -> TablesOptions:
    return TablesOptions(**{"bootstrap_servers": "b:1", "warehouse": Path("w"), "topic": "", **more})


class Runs:
    """Stands for `run_tables`: notes the topics, fails for some of them."""

    def __init__(self, stop: threading.Event, stop_at: str = "", until: int = 0) -> None:
        self.topics: list[str] = []
        self._stop, self._stop_at = stop, stop_at
        self._together = threading.Barrier(until) if until else None

    def __call__(self, asked: TablesOptions, **_: Any) -> Any:
        self.topics.append(asked.topic)
        if self._together is not None:
            self._together.wait(60)
        if asked.topic == self._stop_at:
            self._stop.set()
        if asked.topic.startswith("bad"):
            raise TopicError(f"topic {asked.topic} cannot be read")
        return asked.topic


def tables(runs: Runs, stop: threading.Event, **more: Any) -> _Tables:
    engine = Engine(None, None, stop)  # type: ignore[arg-type]
    return _Tables(options(**more), engine, None, lambda _: None, runs)


@pytest.mark.spec("P3")
def test_a_topic_that_fails_does_not_stop_the_others() -> None:
    stop = threading.Event()
    several = tables(runs := Runs(stop), stop)
    several.run_sequentially(["a", "bad", "c"])
    assert runs.topics == ["a", "bad", "c"]
    assert list(several.result.tables) == ["a", "c"]
    assert several.result.failed == {"bad": "topic bad cannot be read"}


def test_a_signal_ends_the_run_between_two_topics() -> None:
    stop = threading.Event()
    tables(runs := Runs(stop, stop_at="a"), stop).run_sequentially(["a", "b"])
    assert runs.topics == ["a"]


@pytest.mark.spec("P3")
def test_a_continuous_run_has_all_topics_at_once() -> None:
    stop = threading.Event()
    several = tables(runs := Runs(stop, until=3), stop, trigger_seconds=1)
    several.run_together(["a", "bad", "c"], list)
    assert sorted(runs.topics) == ["a", "bad", "c"]
    assert (sorted(several.result.tables), list(several.result.failed)) == (["a", "c"], ["bad"])


def test_the_profile_is_that_of_the_tables(tmp_path: Path) -> None:
    assert begun_profile(options(warehouse=tmp_path), ["a"]) is None
    for name, profile in (("a", Profile.PYPI), ("b", Profile.PYPI), ("c", Profile.JARS)):
        state = TableState(topic=name, topic_id="1", profile=profile, begin={})
        StateFolder(tmp_path, name).write(state)
    assert begun_profile(options(warehouse=tmp_path), ["a", "b", "new"]) is Profile.PYPI
    assert begun_profile(options(warehouse=tmp_path), ["a", "c"]) is None


@pytest.mark.spec("P3")
def test_a_table_for_each_topic_of_a_pattern(engine: Engine, warehouse: Path, topics: Topics) -> None:
    names = [topics.create(f"many-{engine.profile}", partitions=1) for _ in range(2)]
    for number, name in enumerate(names, start=1):
        topics.fill(name, json_values(0, 5 * number))
    asked = options(bootstrap_servers=topics.bootstrap, warehouse=warehouse)
    selection = TopicSelection.of(["nowhere"], f"many-{engine.profile}-.*")
    result = run_topics(asked, selection, engine=engine, say=lambda _: None)
    assert {topic: table.table_rows for topic, table in result.tables.items()} == {names[0]: 5, names[1]: 10}
    assert "topic nowhere cannot be read" in result.failed["nowhere"]
    with pytest.raises(TopicError, match="matches the pattern no-such-"):
        run_topics(asked, TopicSelection.of([], "no-such-.*"), engine=engine, say=lambda _: None)
