"""The programs in `examples/` that pages name, each in a process of its own, as a reader runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.client import SyncClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.testing.cluster import Cluster

EXAMPLES = Path(__file__).parents[3] / "examples"
pytestmark = pytest.mark.timeout(240)


def run(*arguments: object) -> str:
    """What a program prints; it must end with status 0."""
    command = [sys.executable, *map(str, arguments)]
    ended = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def create_greetings(cluster: Cluster) -> None:
    with SyncClient.of(cluster.bootstrap_servers) as client:
        client.call(client.admin.create_topics, [NewTopic(name="greetings", num_partitions=3)])


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Cluster(brokers=1) as cluster:
        create_greetings(cluster)
        yield cluster.bootstrap_servers


@pytest.mark.slow
def test_records_are_produced_and_consumed(bootstrap: str) -> None:
    produced = run(EXAMPLES / "produce_confluent.py", bootstrap).splitlines()
    assert len(produced) == 3
    assert all(line.startswith("greetings-") for line in produced)
    consumed = run(EXAMPLES / "consume_kafka_python.py", bootstrap)
    assert all(greeting in consumed for greeting in ("b'en' b'hello'", "b'de' b'hallo'", "b'fr' b'bonjour'"))


@pytest.mark.slow
def test_a_suite_of_ones_own(tmp_path: Path) -> None:
    suite = EXAMPLES / "test_with_cluster.py"
    assert "1 passed" in run("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, suite)
