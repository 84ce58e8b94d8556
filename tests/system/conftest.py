"""One cluster of three broker processes for all system tests that do not stop it; each test has its own topics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

pytest.register_assert_rewrite(
    "tests.system.loaded",
    "tests.system.clusters",
    "tests.system.console_tools",
    "tests.system.guarded",
    "tests.system.secured",
)

from signalbox.protocol.api_table import ApiKey  # noqa: E402
from signalbox.protocol.messages.metadata import MetadataRequest  # noqa: E402
from signalbox.testing.process_cluster import ProcessCluster  # noqa: E402
from tests.system.clusters import RoutedCluster, routed_cluster  # noqa: E402
from tests.system.guarded import Guarded  # noqa: E402
from tests.system.node_logs import ends_of_logs  # noqa: E402
from tests.system.secured import properties  # noqa: E402
from tests.system.wire import dial  # noqa: E402
from tests.waiting import until  # noqa: E402

MakeTopic = Callable[..., str]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a failed test shows the ends of its nodes' logs, and of the nodes of its fixtures."""
    report = yield
    if report.failed:
        report.sections.extend(ends_of_logs(getattr(item, "funcargs", {}).values()))
    return report


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoutedCluster]:
    """Three brokers; a test that stops one starts a cluster of its own."""
    with routed_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Three brokers that require SCRAM on every listener and enforce ACLs."""
    with Guarded(tmp_path_factory.mktemp("guarded")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """Three brokers that require SASL PLAIN on every listener and enforce ACLs, of which there are none."""
    with ProcessCluster(tmp_path_factory.mktemp("secured"), overrides=properties()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_bootstrap(cluster: RoutedCluster) -> str:
    """`bootstrap.servers` of that cluster, listener CLIENT."""
    return cluster.bootstrap()


@pytest.fixture(scope="session")
def admin(kafka_bootstrap: str) -> AdminClient:
    """An admin client, for creating topics."""
    return AdminClient({"bootstrap.servers": kafka_bootstrap})


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def make_topic(
    request: pytest.FixtureRequest, cluster: RoutedCluster, admin: AdminClient, _numbers: Iterator[int]
) -> MakeTopic:
    """Creates a topic with a unique name, known to every broker: `make_topic(partitions=1, **configs)`."""

    def make(partitions: int = 1, replicas: int = 3, **configs: str) -> str:
        name = f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"
        config = {key.replace("_", "."): value for key, value in configs.items()}
        new = NewTopic(name, partitions, replication_factor=replicas, config=config)
        admin.create_topics([new], operation_timeout=20)[name].result(30)
        for node_id in cluster.brokers:
            until(partial(_is_led, cluster, node_id, name, partitions), f"{name} on broker {node_id}")
        return name

    return make


def _is_led(cluster: RoutedCluster, node_id: int, topic: str, partitions: int) -> bool:
    """True if a broker's metadata has a leader for every partition."""
    with dial(cluster, node_id) as wire:
        named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        found = wire.ask(ApiKey.METADATA, 12, named).topics[0]
        return [part.leader_id >= 0 for part in found.partitions] == [True] * partitions
