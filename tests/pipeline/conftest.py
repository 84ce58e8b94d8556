"""One Kafka and one Spark for the pipeline's tests; both end with this folder's last test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.commands import fetch_jars
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.options import Profile
from signalbox.pipeline.profile import ProfileChoice
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
from signalbox.testing.process_cluster import ProcessCluster
from tests.pipeline.apache_kafka import apache_kafka
from tests.pipeline.object_store.store_server import BUCKET, StoreServer, store_server
from tests.pipeline.schema_registry import schema_registry
from tests.pipeline.topics import Topics


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark's first queries compile for half a minute on a busy machine: they get more time than a unit test."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(400), append=False)


@pytest.fixture(scope="package")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topics]:
    """Topics of a cluster of three of our brokers; SIGNALBOX_TEST_PIPELINE_ON=apache: of one Apache Kafka node, the
    reference for what a test may expect."""
    folder = tmp_path_factory.mktemp("kafka")
    if os.environ.get("SIGNALBOX_TEST_PIPELINE_ON") == "apache":
        with apache_kafka(folder) as address:
            yield Topics(address)
    else:
        with ProcessCluster(folder, 3) as cluster:
            yield Topics(cluster.bootstrap(), replicas=3)


@pytest.fixture(scope="package")
def kafka_bootstrap(topics: Topics) -> str:
    """The address of that Kafka."""
    return topics.bootstrap


@pytest.fixture(scope="package")
def registry(topics: Topics, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a schema registry whose storage is a topic of that Kafka."""
    with schema_registry(tmp_path_factory.mktemp("registry"), topics.bootstrap) as url:
        yield url


# A test's queries read a few rows once: compiling Java for them takes twice the processor time of interpreting them.
# The drivers of tests/system/pipeline compile, as a user's do.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with the jars; profile `pypi` runs on it too and uses none of them."""
    settings = SessionSettings(
        app_name="tests",
        master="local[2]",
        quick=True,
        jars=fetch_jars(),
        scratch_directory=tmp_path_factory.mktemp("spark"),
        extra=_INTERPRETED,
    )
    session = build_session(settings)
    yield session
    end_session(session)


@pytest.fixture(params=list(Profile))
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Engine:
    """The engine in each profile."""
    return Engine(spark, ProfileChoice(request.param, (), "as the test asks"))


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    """An S3 server with an empty bucket."""
    with store_server(tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture
def store_warehouse(store: StoreServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> S3Location:
    """An empty warehouse in that server, which this process can access."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return S3Location(BUCKET, f"warehouses/{tmp_path.name}")


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """An empty warehouse."""
    return tmp_path / "warehouse"
