"""Fixtures for any test suite: after signalbox is installed, pytest finds them by its entry point.

Nothing but pytest is imported before a fixture is used: a test suite that uses none of them pays for this file only.
The imports themselves are most of the time of the first test, so they are made without garbage collection.
The plugin changes no handler and no level of `logging`.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from signalbox.testing.cluster import Cluster
    from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool, KafkaCluster

_MARKER = "kafka_cluster"
_SAME_MARKER = "signalbox_cluster"
_SCOPES = ("session", "module", "function")
_MODULE = "signalbox.testing.kafka_cluster.kafka_cluster"
_NUMBERS = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("signalbox", "Kafka clusters for tests")
    group.addoption(
        "--kafka-brokers", type=int, default=3, help="brokers of a cluster whose test does not say how many"
    )
    group.addoption(
        "--kafka-security",
        default="PLAINTEXT",
        metavar="PROTOCOL",
        help="security protocol of the clients of a cluster whose test does not say which",
    )
    group.addoption("--kafka-processes", action="store_true", help="each broker of kafka_cluster is a process")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(scope='session', brokers=3, security='PLAINTEXT', mechanism=..., users=..., authorize=False, "
        "acls=..., topics=..., overrides=..., processes=False, listeners=...): the cluster of kafka_cluster",
    )
    config.addinivalue_line("markers", f"{_SAME_MARKER}(...): another name of the marker {_MARKER}")


@pytest.fixture(scope="session")
def kafka_clusters() -> Iterator[ClusterPool]:
    """Clusters that are shared by the whole session, one for each set of options: `kafka_clusters.get(brokers=1)`."""
    with import_quickly(_MODULE).ClusterPool() as pool:
        yield pool


@pytest.fixture(scope="module")
def kafka_module_clusters() -> Iterator[ClusterPool]:
    """The same for the tests of a module: stopped after its last test."""
    with import_quickly(_MODULE).ClusterPool() as pool:
        yield pool


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """The cluster with the options of the marker `kafka_cluster`: that of the session, or with `scope` in the marker
    that of the module, or one of the test alone. After the test its faults are taken back, and stopped brokers are
    started; topics and records stay."""
    options = _options(request)
    scope = options.pop("scope", "session")
    if scope not in _SCOPES:
        raise ValueError(f"scope is one of {', '.join(_SCOPES)}, not {scope!r}")
    if scope == "function":
        yield request.getfixturevalue("own_kafka_cluster")
        return
    pool: ClusterPool = request.getfixturevalue("kafka_clusters" if scope == "session" else "kafka_module_clusters")
    cluster = pool.get(**options)
    cluster.forget_requests()
    yield cluster
    cluster.heal()


@pytest.fixture
def own_kafka_cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A new cluster for this test, with the options of the marker `kafka_cluster`."""
    options = _options(request)
    options.pop("scope", None)
    with _new_cluster(options) as cluster:
        yield cluster


class ClusterFactory:
    """Starts a new cluster with each call. `made` are those that it has started, in order."""

    def __init__(self, stack: ExitStack, defaults: dict[str, Any]) -> None:
        self._stack = stack
        self._defaults = defaults
        self.made: list[KafkaCluster] = []

    def __call__(self, **options: Any) -> KafkaCluster:
        cluster = self._stack.enter_context(_new_cluster(self._defaults | options))
        self.made.append(cluster)
        return cluster


@pytest.fixture
def kafka_cluster_factory(request: pytest.FixtureRequest) -> Iterator[ClusterFactory]:
    """Starts a new cluster with each call, with the options that it is given; they are stopped after the test."""
    with ExitStack() as stack:
        yield ClusterFactory(stack, _defaults(request))


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka_cluster: KafkaCluster) -> str:
    """The name of a new topic of `kafka_cluster` for this test alone, with a partition for each broker."""
    return _new_topic(kafka_cluster, request.node.name, kafka_cluster.options.brokers)


@pytest.fixture
def kafka_topic_factory(kafka_cluster: KafkaCluster) -> Callable[..., str]:
    """`kafka_topic_factory("orders", partitions=6)` creates a topic of `kafka_cluster` for this test alone, whose name
    begins with the given one; without `partitions` it has one for each broker."""

    def create(name: str, partitions: int | None = None) -> str:
        return _new_topic(kafka_cluster, name, partitions or kafka_cluster.options.brokers)

    return create


def _new_topic(cluster: KafkaCluster, name: str, partitions: int) -> str:
    """No other test, and no other worker of pytest-xdist, has a topic of the same name."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    first = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:100]
    topic = "-".join(filter(None, (first, worker, str(next(_NUMBERS)))))
    cluster.topics.create(topic, partitions)
    return topic


@pytest.fixture(scope="session")
def signalbox_cluster() -> Iterator[Cluster]:
    """Three brokers in this process, shared by the whole test session, without a switchboard."""
    with import_quickly("signalbox.testing.cluster").Cluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def signalbox_bootstrap(signalbox_cluster: Cluster) -> str:
    """`bootstrap.servers` of that cluster."""
    return signalbox_cluster.bootstrap_servers


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Adds to a failed test what its clusters have to say: faults, the last requests, the ends of the brokers' logs."""
    made = yield
    report: pytest.TestReport = made.get_result()
    if report.failed and _MODULE in sys.modules:
        for name, cluster in _clusters(getattr(item, "funcargs", {})):
            report.sections += [(f"{name}: {title}", text) for title, text in cluster.describe_state()]


def _clusters(fixtures: dict[str, Any]) -> Iterator[tuple[str, KafkaCluster]]:
    """The clusters of a test, each with the name of its fixture; those of a factory or pool have numbers."""
    kit, seen = sys.modules[_MODULE], set()
    for name, value in fixtures.items():
        if isinstance(value, kit.KafkaCluster):
            seen.add(id(value))
            yield name, value
    for name, value in fixtures.items():
        several = value.made if isinstance(value, ClusterFactory | kit.ClusterPool) else ()
        yield from ((f"{name} {number}", each) for number, each in enumerate(several, 1) if id(each) not in seen)


def _defaults(request: pytest.FixtureRequest) -> dict[str, Any]:
    options = request.config.option
    return {
        "brokers": options.kafka_brokers,
        "security": options.kafka_security,
        "processes": options.kafka_processes,
    }


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    options = _defaults(request)
    for marker in reversed(list(request.node.iter_markers())):  # the one nearest to the test counts
        if marker.name in (_MARKER, _SAME_MARKER):
            if marker.args:
                raise pytest.UsageError(f"options of the marker {marker.name} have names (brokers=3): {marker.args}")
            options |= marker.kwargs
    return options


def _new_cluster(options: dict[str, Any]) -> KafkaCluster:
    kit = import_quickly(_MODULE)
    cluster: KafkaCluster = kit.KafkaCluster(kit.ClusterOptions.of(options))
    return cluster


def import_quickly(module: str) -> Any:
    """The module. Collections would go through all that is imported, several times: a quarter of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collects:
            gc.enable()
