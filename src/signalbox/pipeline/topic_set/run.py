"""`run_topics`: several topics → a table each, on one Spark session.

A run that reads what the topics have reads one after the other. A continuous run has a query for each topic, all at the
same time, and looks for new topics of the pattern. The tables are independent of each other: a topic that fails is
reported, and the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.engine import Engine, open_engine
from signalbox.pipeline.events import EventListener
from signalbox.pipeline.options import OptionError, Profile, TablesOptions, reject_faulty
from signalbox.pipeline.stream import spark_faults, stop_signals
from signalbox.pipeline.table_state import StateFolder
from signalbox.pipeline.tables.run import TablesResult, run_tables
from signalbox.pipeline.tables.table_names import taken_in_run
from signalbox.pipeline.topic_client import TopicClient, TopicError
from signalbox.pipeline.topic_set.selection import TopicSelection

NEW_TOPICS_SECONDS = 30.0

RunOne = Callable[..., TablesResult]


@dataclass(slots=True)
class TopicsResult:
    """The results of the topics, and the reasons of those that failed."""

    tables: dict[str, TablesResult] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {"tables": {topic: result.as_json() for topic, result in self.tables.items()}, "failed": self.failed}


def run_topics(
    options: TablesOptions,
    selection: TopicSelection,
    *,
    engine: Engine | None = None,
    listener: EventListener | None = None,
    say: Callable[[str], None] = print,
) -> TopicsResult:
    """Writes each topic of the selection into its table; `options.topic` and `options.name` are not used.

    Raises OptionError, TopicError if no topic can be found, JarError, JavaNotFoundError and PipelineError.
    """
    options = replace(options, topic="", name=None)
    reject_faulty(replace(options, topic="any"))
    settings = librdkafka_settings(options.client_options)
    client = TopicClient(options.bootstrap_servers, settings, "signalbox-pipeline-topics")

    def found() -> list[str]:
        return selection.topics(client.topic_names() if selection.pattern is not None else ())

    topics = found()
    if not topics and options.trigger_seconds is None:
        raise TopicError(f"no topic of the cluster matches the pattern {selection.pattern}")
    begun_with = begun_profile(options, topics)
    with (
        spark_faults(),
        stop_signals() as stop,
        open_engine(options, engine=engine, begun_with=begun_with, say=say) as opened,
    ):
        tables = _Tables(options, replace(opened, stop=stop), listener, say)
        if options.trigger_seconds is None:
            tables.run_sequentially(topics)
        else:
            tables.run_together(topics, found)
    return tables.result


def begun_profile(options: TablesOptions, topics: list[str]) -> Profile | None:
    """The profile with which the tables were begun; None if there is none yet, or if they differ."""
    states = [StateFolder(options.state_folder, topic).read() for topic in topics]
    profiles = {state.profile for state in states if state is not None}
    return profiles.pop() if len(profiles) == 1 else None


class _Tables:
    """The tables of a run, and their results."""

    def __init__(
        self,
        options: TablesOptions,
        engine: Engine,
        listener: EventListener | None,
        say: Callable[[str], None],
        run_one: RunOne = run_tables,
    ) -> None:
        self.result = TopicsResult()
        self._options = options
        self._engine = engine
        self._listener = listener
        self._say = say
        self._run_one = run_one
        self._lock = threading.Lock()

    @property
    def _stopped(self) -> bool:
        return self._engine.stop is not None and self._engine.stop.is_set()

    def run_sequentially(self, topics: list[str]) -> None:
        """One topic after the other, until a signal stops the run."""
        for topic in self._with_free_names(topics):
            if self._stopped:
                return
            self._run(topic)

    def run_together(self, topics: list[str], found: Callable[[], list[str]]) -> None:
        """All topics at once, and those that `found` returns later, until all have ended."""
        threads: dict[str, threading.Thread] = {}
        looked_at, started = time.monotonic(), time.monotonic()
        while True:
            waiting = [topic for topic in topics if topic not in threads and topic not in self.result.failed]
            for topic in self._with_free_names(topics) if waiting else ():
                if topic not in threads and not self._stopped:
                    threads[topic] = threading.Thread(target=self._run, args=(topic,), name=f"table-{topic}")
                    threads[topic].start()
            running = [thread for thread in threads.values() if thread.is_alive()]
            limit = self._options.stop_after_seconds
            if not running and (threads or self._stopped):
                return
            if limit is not None and not running and time.monotonic() - started > limit:
                return
            for thread in running[:1]:
                thread.join(1)
            if not running and self._engine.stop is not None:
                self._engine.stop.wait(1)
            if time.monotonic() - looked_at > NEW_TOPICS_SECONDS and not self._stopped:
                topics, looked_at = self._look_again(topics, found), time.monotonic()

    def _with_free_names(self, topics: list[str]) -> list[str]:
        """The topics whose table is not the one of another topic's rejected records; the others have failed."""
        taken = taken_in_run(self._options.state_folder, topics)
        for topic, fault in taken.items():
            if topic not in self.result.failed:
                self._fail(topic, fault)
        return [topic for topic in topics if topic not in taken]

    def _look_again(self, topics: list[str], found: Callable[[], list[str]]) -> list[str]:
        try:
            return found()
        except TopicError as fault:
            self._say(f"new topics: {fault}; looking again in {NEW_TOPICS_SECONDS:.0f} s")
            return topics

    def _run(self, topic: str) -> None:
        options = replace(self._options, topic=topic)
        try:
            result = self._run_one(options, engine=self._engine, listener=self._listener, say=self._say)
        except (OptionError, RuntimeError, TimeoutError) as fault:
            self._fail(topic, str(fault))
        else:
            with self._lock:
                self.result.tables[topic] = result

    def _fail(self, topic: str, fault: str) -> None:
        self._say(f"{topic}: failed: {fault}")
        with self._lock:
            self.result.failed[topic] = fault
