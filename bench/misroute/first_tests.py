"""How long a test waits for the test kit: pytest's own times of tests, each of which produces to a topic of its own.

The tests are those of an application: a session imports the package, starts three brokers for the first test, and each
test creates a topic and a producer. `make bench-fixture` shows where the time goes.
"""

from __future__ import annotations

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
