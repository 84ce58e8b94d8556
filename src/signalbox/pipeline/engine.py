"""The running engine: profile, committer and Spark session of a process, shared by the pipelines that it runs.

Starting Spark costs seconds; `open_engine` lets a caller run `tables` and then `audit` on one session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.options import (
    DEFAULT_MASTER,
    DEFAULT_MEMORY,
    Commit,
    OptionError,
    Profile,
    RunOptions,
    reject_faulty,
)
from signalbox.pipeline.profile import ProfileChoice, choose_commit, choose_profile
from signalbox.pipeline.sinks.sink_rs import RsSink
from signalbox.pipeline.sinks.sink_spark import SparkSink
from signalbox.pipeline.sinks.sink_store import StoreSink
from signalbox.pipeline.sinks.table_sink import TableSink
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
from signalbox.pipeline.spark.submitted import AT_START, submitted_driver
from signalbox.pipeline.stream import spark_faults
from signalbox.pipeline.table_state import scratch_directory


@dataclass(frozen=True, slots=True)
class Engine:
    """A Spark session with its profile. `stop`: asks every run on the session to end; None = each run listens to
    signals itself."""

    spark: SparkSession
    choice: ProfileChoice
    stop: threading.Event | None = None

    @property
    def profile(self) -> Profile:
        return self.choice.profile

    def sink(self, commit: str, warehouse: TableLocation) -> TableSink:
        """The committer for `auto`, `spark` or `rs`; in an object store it is always delta-rs."""
        if isinstance(warehouse, S3Location):
            return StoreSink()
        chosen = choose_commit(commit, self.profile)
        return SparkSink() if chosen == Commit.SPARK else RsSink()


def start_engine(options: RunOptions, begun_with: Profile | None = None, say: Callable[[str], None] = print) -> Engine:
    """Chooses the profile, reports it through `say`, starts Spark. Raises JarError, JavaNotFoundError, OptionError."""
    reject_faulty(options)
    submitted = submitted_driver()
    choice = choose_profile(
        options.profile,
        jars_directory=options.jars_directory,
        begun_with=begun_with,
        fetch=submitted is None,
        say=say,
    )
    choose_commit(options.commit, choice.profile)
    if submitted is not None and (faults := submitted.faults(choice.jars, _set_by_command(options))):
        raise OptionError(faults)
    master = options.master if submitted is None else submitted.master
    settings = SessionSettings(
        master=master,
        memory=options.memory,
        quick=options.quick,
        jars=choice.jars,
        scratch_directory=scratch_directory(options.state_folder),
        submitted=None if submitted is None else submitted.settings,
        extra=options.spark_options,
    )
    spark = build_session(settings)
    reader = "Spark's Kafka connector" if choice.profile == Profile.JARS else "the Python data source"
    in_store = isinstance(options.warehouse, S3Location)
    committer = Commit.RS if in_store else choose_commit(options.commit, choice.profile)
    say(
        f"pipeline: Spark {spark.version} on {master}, profile {choice.profile} ({choice.reason}), "
        f"reading with {reader}, committing with {'Delta' if committer == Commit.SPARK else 'delta-rs'}"
    )
    pages = spark.sparkContext.uiWebUrl
    if pages is not None:
        say(f"pipeline: Spark's own pages: {pages}")
    return Engine(spark, choice)


def _set_by_command(options: RunOptions) -> dict[str, bool]:
    """The options that spark-submit has too, and whether the command sets them."""
    of_start = {f"--conf {key}": True for key in options.spark_options if key.startswith(AT_START)}
    return {"--master": options.master != DEFAULT_MASTER, "--memory": options.memory != DEFAULT_MEMORY, **of_start}


@contextmanager
def open_engine(
    options: RunOptions,
    *,
    engine: Engine | None = None,
    begun_with: Profile | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[Engine]:
    """The `engine` that was passed, or a new one that is stopped at the end of the block. Raises failures of Spark and
    of Delta tables in the block as PipelineError."""
    if engine is not None:
        if begun_with is not None and engine.profile != begun_with:
            raise OptionError([f"the table was begun with profile {begun_with}, this engine is {engine.profile}"])
        with spark_faults():
            yield engine
        return
    fresh = start_engine(options, begun_with, say)
    try:
        with spark_faults():
            yield fresh
    finally:
        end_session(fresh.spark)
