"""One Kafka and one Spark for the pipeline's tests; both end with this folder's last test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.commands import fetch_jars
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.profile import Profile, ProfileChoice
from signalbox.pipeline.session import SessionSettings, build_session, end_session
from tests.pipeline.apache_kafka import apache_kafka
from tests.pipeline.topics import Topics


@pytest.fixture(scope="package")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running Kafka."""
    with apache_kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="package")
def topics(kafka_bootstrap: str) -> Topics:
    """Makes and fills topics."""
    return Topics(kafka_bootstrap)


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with the jars; profile `pypi` runs on it too and touches none of them."""
    scratch = tmp_path_factory.mktemp("spark")
    session = build_session(
        SessionSettings(app_name="tests", master="local[2]", quick=True, jars=fetch_jars(), scratch_directory=scratch)
    )
    yield session
    end_session(session)


@pytest.fixture(params=list(Profile))
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Engine:
    """The engine in each profile."""
    return Engine(spark, ProfileChoice(request.param, (), "as the test asks"))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """An empty warehouse."""
    return tmp_path / "warehouse"
