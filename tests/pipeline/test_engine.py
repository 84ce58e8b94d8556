"""Profile, committer and session of a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.engine import Engine, open_engine, start_engine
from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.options import OptionError, Profile, RunOptions
from signalbox.pipeline.profile import ProfileChoice
from signalbox.pipeline.sinks.sink_rs import RsSink
from signalbox.pipeline.sinks.sink_spark import SparkSink
from signalbox.pipeline.sinks.sink_store import StoreSink
from signalbox.pipeline.stream import PipelineError


def test_the_committer_is_deltas_own_where_its_jar_is(spark: SparkSession) -> None:
    with_jars = Engine(spark, ProfileChoice(Profile.JARS, (), ""))
    without = Engine(spark, ProfileChoice(Profile.PYPI, (), ""))
    assert isinstance(with_jars.sink("auto", Path("w")), SparkSink)
    assert isinstance(with_jars.sink("rs", Path("w")), RsSink)
    assert isinstance(without.sink("auto", Path("w")), RsSink)
    assert isinstance(with_jars.sink("auto", S3Location("bucket")), StoreSink)


def test_a_given_engine_is_used_and_left_running(spark: SparkSession, tmp_path: Path) -> None:
    options = RunOptions(bootstrap_servers="b:1", warehouse=tmp_path)
    given = Engine(spark, ProfileChoice(Profile.PYPI, (), ""))
    with open_engine(options, engine=given) as opened:
        assert opened is given
    assert spark.range(2).count() == 2
    rejected = pytest.raises(OptionError, match="begun with profile jars, this engine is pypi")
    with rejected, open_engine(options, engine=given, begun_with=Profile.JARS):
        raise AssertionError("the wrong engine was opened")


def test_an_error_of_spark_has_its_text_before_the_session_ends(spark: SparkSession, tmp_path: Path) -> None:
    options = RunOptions(bootstrap_servers="b:1", warehouse=tmp_path)
    given = Engine(spark, ProfileChoice(Profile.PYPI, (), ""))
    with pytest.raises(PipelineError, match="no_such_column"), open_engine(options, engine=given) as opened:
        opened.spark.range(2).select("no_such_column")


def test_faulty_options_are_rejected_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="bootstrap servers are empty"):
        start_engine(RunOptions(bootstrap_servers="", warehouse=tmp_path))
    assert list(tmp_path.iterdir()) == []
