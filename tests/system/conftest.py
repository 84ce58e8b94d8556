"""One cluster of three broker processes for all system tests that do not break it; topics of their own for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

pytest.register_assert_rewrite("tests.system.loaded", "tests.system.clusters", "tests.system.console_tools")

from tests.system.clusters import RoutedCluster, routed_cluster  # noqa: E402

MakeTopic = Callable[..., str]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoutedCluster]:
    """Three brokers; a test that stops one starts a cluster of its own."""
    with routed_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def kafka_bootstrap(cluster: RoutedCluster) -> str:
    """`bootstrap.servers` of that cluster, listener CLIENT."""
    return cluster.bootstrap()


@pytest.fixture(scope="session")
def admin(kafka_bootstrap: str) -> AdminClient:
    """Something to make topics with."""
    return AdminClient({"bootstrap.servers": kafka_bootstrap})


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def make_topic(request: pytest.FixtureRequest, admin: AdminClient, _numbers: Iterator[int]) -> MakeTopic:
    """Makes a topic with a name of its own: `make_topic(partitions=1, **configs)`."""

    def make(partitions: int = 1, replicas: int = 3, **configs: str) -> str:
        name = f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"
        config = {key.replace("_", "."): value for key, value in configs.items()}
        new = NewTopic(name, partitions, replication_factor=replicas, config=config)
        admin.create_topics([new], operation_timeout=20)[name].result(30)
        return name

    return make
