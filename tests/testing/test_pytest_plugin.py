"""The fixtures that an installed signalbox gives to any test suite. Test suites of their own run in a process."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from signalbox.client import ClusterClient, Producer
from signalbox.client.admin import AdminClient
from signalbox.testing.cluster import Cluster
from signalbox.testing.faults import SwapAddresses
from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool, KafkaCluster
from signalbox.testing.pytest_plugin import import_quickly
from tests.testing.faults.probes import node_at

pytestmark = [pytest.mark.spec("R7"), pytest.mark.system]

_topics: list[str] = []


def run_suite(folder: Path, text: str, *options: str) -> str:
    """What pytest prints for a test suite of one file; the options come after `-p no:cacheprovider`."""
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options, "test_it.py"]
    done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=110)
    return done.stdout + done.stderr


def test_the_plugin_is_found_by_its_entry_point() -> None:
    [found] = [entry for entry in entry_points(group="pytest11") if entry.name == "signalbox"]
    assert found.value == "signalbox.testing.pytest_plugin"


def test_three_brokers_shared_by_the_session(signalbox_cluster: Cluster, signalbox_bootstrap: str) -> None:
    async def brokers() -> int:
        async with AdminClient.of(signalbox_bootstrap) as admin:
            return len((await admin.describe_cluster()).nodes)

    assert asyncio.run(brokers()) == 3
    assert signalbox_bootstrap == signalbox_cluster.bootstrap_servers


@pytest.mark.kafka_cluster(brokers=2, topics={"orders": 4})
def test_the_marker_has_the_options(kafka_cluster: KafkaCluster, kafka_clusters: ClusterPool) -> None:
    assert kafka_cluster.node_ids == (1, 2)
    assert kafka_cluster.topics.leaders("orders") == {0: 1, 1: 2, 2: 1, 3: 2}
    assert kafka_clusters.get(brokers=2, topics={"orders": 4}) is kafka_cluster


@pytest.mark.kafka_cluster(brokers=2)
class TestOneClusterForSeveralTests:
    def test_faults_and_stopped_brokers(self, kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
        kafka_cluster.faults(SwapAddresses(1, 2))
        kafka_cluster.brokers.stop_broker(2)
        assert kafka_cluster.stopped() == [2]
        _topics.append(kafka_topic)

    def test_are_mended_after_the_test(self, kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
        assert kafka_cluster.stopped() == []
        assert [node_at(kafka_cluster, kafka_cluster.advertised(node), (1, 2)) for node in (1, 2)] == [[1], [2]]
        assert kafka_cluster.requests("another client") == []
        assert kafka_topic not in _topics


@pytest.mark.kafka_cluster(brokers=1)
def test_a_cluster_of_its_own(
    own_kafka_cluster: KafkaCluster, kafka_cluster: KafkaCluster, kafka_cluster_factory: Callable[..., KafkaCluster]
) -> None:
    others = [kafka_cluster_factory(brokers=1), kafka_cluster_factory(brokers=1)]
    ids = {each.cluster_id for each in (own_kafka_cluster, kafka_cluster, *others)}
    assert len(ids) == 4


def test_an_option_that_does_not_exist_is_named(tmp_path: Path) -> None:
    suite = """
import pytest

@pytest.mark.kafka_cluster(broker=1)
def test_it(kafka_cluster): pass
"""
    output = run_suite(tmp_path, suite)
    assert "a cluster has the options brokers, security" in output
    assert "1 error" in output


def test_options_of_the_command_line_are_for_tests_that_do_not_say_otherwise(tmp_path: Path) -> None:
    suite = """
import pytest

def test_default(kafka_cluster):
    assert (kafka_cluster.options.brokers, kafka_cluster.options.security) == (1, "SASL_SSL")
    assert kafka_cluster.topics.leaders("__consumer_offsets") == {}

@pytest.mark.kafka_cluster(security="PLAINTEXT")
def test_marked(kafka_cluster, kafka_cluster_factory):
    assert (kafka_cluster.options.brokers, kafka_cluster.options.security) == (1, "PLAINTEXT")
    assert kafka_cluster_factory(brokers=2).options.security == "SASL_SSL"
"""
    output = run_suite(tmp_path, suite, "--kafka-brokers=1", "--kafka-security=SASL_SSL")
    assert "2 passed" in output, output


def test_suites_that_use_no_fixture_import_no_broker_and_keep_their_logging(tmp_path: Path) -> None:
    suite = """
import logging, sys

def test_imports():
    assert [name for name in sys.modules if name.startswith("signalbox.") and "pytest_plugin" not in name] in (
        [], ["signalbox.testing"])

def test_logging():
    assert logging.getLogger("signalbox").handlers == []
    assert logging.getLogger("signalbox").propagate
    assert logging.getLogger().level == logging.WARNING
"""
    assert "2 passed" in run_suite(tmp_path, suite)


def test_a_record_of_a_broker_is_shown_once_and_handlers_stay(tmp_path: Path) -> None:
    suite = """
import logging

before = None

def handlers():
    return [(logger.name, list(logger.handlers), logger.level) for logger in (
        logging.getLogger(), logging.getLogger("signalbox"), logging.getLogger("signalbox.network"))]

def test_handlers_before_and_after(request):
    before = handlers()
    cluster = request.getfixturevalue("own_kafka_cluster")
    assert handlers() == before

def test_it(kafka_cluster):
    logging.getLogger("signalbox.network").warning("one line of a broker")
    assert kafka_cluster is None
"""
    output = run_suite(tmp_path, suite, "--kafka-brokers=1")
    assert "1 failed, 1 passed" in output
    assert output.count("one line of a broker") == 2  # in the source and in the captured log


def test_a_failed_test_shows_faults_requests_and_logs_of_brokers(tmp_path: Path) -> None:
    suite = """
from signalbox.testing.faults import Delay

def test_it(kafka_cluster, kafka_topic):
    from signalbox.client import SyncClient
    with SyncClient(kafka_cluster.client_config().settings(client_id="mine")) as client:
        client.call(client.admin.list_topics)
    kafka_cluster.faults(Delay(1, 7))
    assert False
"""
    output = run_suite(tmp_path, suite, "--kafka-brokers=1", "--kafka-processes")
    assert "1 failed" in output
    assert "kafka_cluster: applied faults" in output
    assert "Delay(node=1, delay_ms=7)" in output
    assert "METADATA 13 of mine" in output
    assert "kafka_cluster: broker 1" in output


def test_a_failed_test_shows_the_clusters_of_its_factory(tmp_path: Path) -> None:
    suite = """
from signalbox.testing.faults import Delay

def test_it(kafka_cluster_factory):
    kafka_cluster_factory(brokers=1)
    kafka_cluster_factory(brokers=1).faults(Delay(1, 7))
    assert False
"""
    output = run_suite(tmp_path, suite)
    assert "1 failed" in output
    assert "kafka_cluster_factory 2: applied faults" in output
    assert "kafka_cluster_factory 1: applied faults" not in output


def test_a_cluster_is_shared_by_the_session_by_a_module_or_by_no_other_test(tmp_path: Path) -> None:
    suite = """
import pytest

def test_session(kafka_cluster, kafka_clusters):
    assert kafka_clusters.made == [kafka_cluster]

@pytest.mark.signalbox_cluster(scope="module")
class TestModule:
    def test_one(self, kafka_cluster, kafka_clusters, kafka_module_clusters):
        assert kafka_module_clusters.made == [kafka_cluster]
        assert kafka_cluster not in kafka_clusters.made

    def test_other(self, kafka_cluster, kafka_module_clusters):
        assert kafka_module_clusters.made == [kafka_cluster]

    @pytest.mark.kafka_cluster(scope="function")
    def test_own(self, kafka_cluster, kafka_clusters, kafka_module_clusters):
        assert kafka_cluster not in kafka_clusters.made + kafka_module_clusters.made

@pytest.mark.kafka_cluster(scope="class")
def test_no_scope(kafka_cluster): pass
"""
    output = run_suite(tmp_path, suite, "--kafka-brokers=1", "--strict-markers")
    assert "scope is one of session, module, function, not 'class'" in output
    assert "4 passed, 1 error" in output


@pytest.mark.kafka_cluster(brokers=1)
def test_topics_of_a_test_have_names_of_their_own(
    kafka_cluster: KafkaCluster, kafka_topic: str, kafka_topic_factory: Callable[..., str]
) -> None:
    orders, more = kafka_topic_factory("orders", partitions=2), kafka_topic_factory("orders/ü")
    assert len({kafka_topic, orders, more}) == 3
    assert orders.startswith("orders-")
    assert [len(kafka_cluster.topics.leaders(name)) for name in (orders, more)] == [2, 1]


async def records_of(cluster: KafkaCluster, topic: str) -> list[bytes | None]:
    """A test that is a coroutine: the cluster's brokers have an event loop and a thread of their own."""
    async with ClusterClient(cluster.client_config().settings()) as client:
        async with Producer(client) as producer:
            with cluster.faults(SwapAddresses(1, 2)):
                await producer.send(topic, b"first", partition=0)
            await producer.flush()
        return [record.value for record in cluster.topics.records(topic)[0]]


@pytest.mark.kafka_cluster(brokers=2)
def test_coroutines_use_the_fixtures(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    assert asyncio.run(records_of(kafka_cluster, kafka_topic)) == [b"first"]


def test_parallel_workers_have_clusters_and_topics_of_their_own(tmp_path: Path) -> None:
    suite = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_it(kafka_cluster, kafka_topic, number, worker_id):
    assert worker_id in kafka_topic
    assert kafka_cluster.topics.leaders(kafka_topic) == {0: 1}
"""
    assert "4 passed" in run_suite(tmp_path, suite, "--kafka-brokers=1", "-n", "2")


def test_imports_are_made_without_garbage_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_by_the_plugin.py").write_text("import gc\n\ncollected = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert gc.isenabled()
    assert import_quickly("imported_by_the_plugin").collected is False
    assert gc.isenabled()
    with pytest.raises(ImportError):
        import_quickly("signalbox.no_such_module")
    assert gc.isenabled()
