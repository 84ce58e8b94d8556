"""What spark-submit must be called with."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.spark.submitted import SubmittedDriver, submitted_driver

pytestmark = pytest.mark.spec("P9")
JARS = (Path("/cache/a.jar"), Path("/cache/b.jar"))
NOTHING_SET = {"--master": False, "--memory": False}


def test_a_process_of_its_own_is_not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert submitted_driver() is None


def test_the_master_is_that_of_spark_submit() -> None:
    assert SubmittedDriver({"spark.master": "spark://h:7077"}).master == "spark://h:7077"
    assert SubmittedDriver({}).master == "local[*]"


@pytest.mark.parametrize("key", ["spark.jars", "spark.repl.local.jars"])
def test_all_jars_must_be_given(key: str) -> None:
    complete = SubmittedDriver({key: "file:///elsewhere/b.jar,file:///elsewhere/a.jar,/own.jar"})
    assert complete.faults(JARS, NOTHING_SET) == []
    (fault,) = SubmittedDriver({key: "file:///cache/a.jar"}).faults(JARS, NOTHING_SET)
    assert fault == (
        'spark-submit was started without the jars of profile jars: add --jars "$(signalbox pipeline jars --list)", '
        "or use --profile pypi"
    )
    assert SubmittedDriver({}).faults((), NOTHING_SET) == []


def test_options_that_are_spark_submits_are_rejected() -> None:
    assert SubmittedDriver({}).faults((), {"--master": True, "--memory": True}) == [
        "--master has no effect under spark-submit: give it to spark-submit",
        "--memory has no effect under spark-submit: give it to spark-submit",
    ]
