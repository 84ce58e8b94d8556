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
_MODULE = "signalbox.testing.kafka_cluster.kafka_cluster"
_NUMBERS = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("signalbox", "Kafka clusters for tests")
    group.addoption(
        "--kafka-brokers", type=int, default=3, help="brokers of a cluster whose test does not say how many"
    )
    group.addoption("--kafka-processes", action="store_true", help="each broker of kafka_cluster is a process")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(brokers=3, security='PLAINTEXT', mechanism=..., users=..., authorize=False, topics=..., "
        "overrides=..., processes=False, listeners=...): the cluster of kafka_cluster and own_kafka_cluster",
    )


@pytest.fixture(scope="session")
def kafka_clusters() -> Iterator[ClusterPool]:
    """Clusters that are shared by the whole session, one for each set of options: `kafka_clusters.get(brokers=1)`."""
    with import_quickly(_MODULE).ClusterPool() as pool:
        yield pool


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, kafka_clusters: ClusterPool) -> Iterator[KafkaCluster]:
    """The session's cluster with the options of the marker `kafka_cluster`. After the test its faults are taken back,
    and stopped brokers are started; topics and records stay."""
    cluster = kafka_clusters.get(**_options(request))
    cluster.forget_requests()
    yield cluster
    cluster.heal()


@pytest.fixture
def own_kafka_cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A new cluster for this test, with the options of the marker `kafka_cluster`."""
    with _new_cluster(_options(request)) as cluster:
        yield cluster


@pytest.fixture
def kafka_cluster_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., KafkaCluster]]:
    """Starts a new cluster with each call, with the options that it is given; they are stopped after the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(_new_cluster(_defaults(request) | options))


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka_cluster: KafkaCluster) -> str:
    """The name of a new topic of `kafka_cluster` for this test alone, with a partition for each broker."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    test = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)[:100]
    name = "-".join(filter(None, (test, worker, str(next(_NUMBERS)))))
    kafka_cluster.topics.create(name, kafka_cluster.options.brokers)
    return name


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
    kind = getattr(sys.modules.get(_MODULE), "KafkaCluster", None)
    if report.failed and kind is not None:
        clusters = [(name, each) for name, each in getattr(item, "funcargs", {}).items() if isinstance(each, kind)]
        for name, cluster in clusters:
            report.sections += [(f"{name}: {title}", text) for title, text in cluster.describe_state()]


def _defaults(request: pytest.FixtureRequest) -> dict[str, Any]:
    options = request.config.option
    return {"brokers": options.kafka_brokers, "processes": options.kafka_processes}


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    options = _defaults(request)
    for marker in reversed(list(request.node.iter_markers(_MARKER))):  # the one nearest to the test counts
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
