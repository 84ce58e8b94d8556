"""How long a test waits for the test kit: pytest's own times of tests, each of which produces to a topic of its own.

The tests are those of an application: a session imports the package, starts three brokers for the first test, and each
test creates a topic and a producer. `make bench-fixture` shows where the time goes. A cluster is ready when every
broker is; a test suite that has the plugin and uses none of its fixtures pays for its import.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from bench.rounds import Rounds
from bench.table import Row

_FURTHER_TESTS = 20
_TESTS = f"""
import pytest

from signalbox.client import ProducerSettings, SyncClient


@pytest.mark.parametrize("number", range({_FURTHER_TESTS + 1}))
def test_produce(kafka_cluster, kafka_topic, number):
    settings = kafka_cluster.client_config().settings()
    with SyncClient(settings) as client, client.producer(ProducerSettings(linger_ms=0)) as producer:
        assert producer.send(kafka_topic, b"first").result(60).offset == 0
"""


_CLUSTERS = 10
_READY = f"""
import json, time

from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster

milliseconds = []
for _ in range({_CLUSTERS + 1}):
    began = time.perf_counter()
    with KafkaCluster():
        milliseconds.append((time.perf_counter() - began) * 1000)
print(json.dumps(milliseconds[1:]))  # the first one is not warm
"""
_IMPORTS = 5
_PLUGIN = """
import json, time

import pytest

began = time.perf_counter()
import signalbox.testing.pytest_plugin
print(json.dumps([(time.perf_counter() - began) * 1000]))
"""


def kit_rows(repeats: int) -> Iterator[Row]:
    """The median of the processes; of a process's clusters their median."""
    ready = [statistics.median(_milliseconds(_READY)) for _ in range(repeats)]
    yield Rounds(tuple(ready)).own_row("a warm cluster of three brokers is ready, median, ms", 100.0)
    imports = [statistics.median(_milliseconds(_PLUGIN)[0] for _ in range(_IMPORTS)) for _ in range(repeats)]
    yield Rounds(tuple(imports)).own_row("the pytest plugin without its fixtures, median, ms", 5.0)


def _milliseconds(program: str) -> list[float]:
    """What a program prints, in a process of its own."""
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    return [float(each) for each in json.loads(printed)]


def first_test_rows(repeats: int) -> Iterator[Row]:
    """The median of the sessions; of a session's further tests their median."""
    firsts, further = [], []
    for _ in range(repeats):
        first, *others = _session()
        firsts.append(first)
        further.append(statistics.median(others) * 1000)
    yield Rounds(tuple(firsts)).own_row("first test of a pytest session with a cluster, s", 0.5)
    yield Rounds(tuple(further)).own_row("each further test with a topic and a producer, median, ms", 20.0)


def _session() -> list[float]:
    """Seconds of each test, in order: its fixtures, itself, and what follows it."""
    with tempfile.TemporaryDirectory(prefix="signalbox-bench-") as name:
        file, report = Path(name) / "test_first.py", Path(name) / "report.xml"
        file.write_text(_TESTS)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", str(file)]
        subprocess.run([*command, "--rootdir", name], check=True, stdout=subprocess.DEVNULL, timeout=120)
        return [float(case.attrib["time"]) for case in ElementTree.parse(report).iter("testcase")]
