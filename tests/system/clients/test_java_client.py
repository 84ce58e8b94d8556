"""The Java client 4.4.0 (`java/Clients.java`): producer, groups, Admin; and the addresses of two brokers swapped while
it runs."""

from __future__ import annotations

import subprocess
import threading
import time
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.system import provision
from tests.system.clusters import RoutedCluster, line_of, metric
from tests.system.conftest import MakeTopic
from tests.system.provision import java_class
from tests.waiting import until

NEEDS = (partial(java_class, "Clients.java", "clients"),)
pytestmark = pytest.mark.timeout(240)

_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
# NetworkClient of the Java client 4.4.0: if a response of one node arrives in the same poll as REBOOTSTRAP_REQUIRED of
# another, handling it raises this error. The requests that the rebootstrap cancelled in that poll are never completed:
# their records, stored or not, fail after delivery.timeout.ms. docs/troubleshooting.md has it as a symptom.
_CLIENT_DEFECT = "IllegalStateException: There are no in-flight requests for node"
_MISROUTED = "signalbox_network_socketserver_misroutedconnections_total"


def java(*arguments: str, **settings: Any) -> subprocess.Popen[str]:
    class_path = java_class("Clients.java", "clients")
    return subprocess.Popen(
        [*provision.java(_QUIET), "-cp", class_path, "Clients", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def figures(text: str) -> dict[str, str]:
    """`name value` lines as a dictionary; the last line of a name counts."""
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


@pytest.mark.spec("D1", "D8")
def test_produces_consumes_in_a_group_and_administers(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(6)
    process = java("clients", kafka_bootstrap, topic)
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors + output
    assert figures(output) == {
        "produced": "2000",
        "consumed": "2000",
        "total": "2000",
        "shared": "true",
        "nodes": "3",
        "partitions": "6",
        "retention": "7200000",
        "endOffsets": "2000",
        "committed": "2000",
        "groupState": "Empty",
        "end": "1",
    }


def numbers_in(bootstrap: str, topic: str, partitions: int) -> list[list[int]]:
    """The numbers in each partition, from the first offset to the end, in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"check-{topic}", "fetch.queue.backoff.ms": 5})
    found: list[list[int]] = []
    for partition in range(partitions):
        part = TopicPartition(topic, partition, 0)
        _, end = consumer.get_watermark_offsets(part, timeout=15)
        consumer.assign([part])
        values: list[int] = []
        deadline = time.monotonic() + 30
        while len(values) < end:
            assert time.monotonic() < deadline, f"{len(values)} of {end} in partition {partition}"
            values += [int(message.value() or b"-1") for message in consumer.consume(5_000, 1.0)]
        found.append(values)
    consumer.close()
    return found


class _Driver:
    """The misroute driver while it runs: the number of acknowledged records, and its final figures."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.process = java("misroute", bootstrap, topic, stdin=subprocess.PIPE)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    @property
    def acknowledged(self) -> int:
        assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
        return int(figures("\n".join(self.lines)).get("acknowledged", 0))

    def stop(self) -> tuple[dict[str, str], str]:
        """Its final figures, and what it wrote to stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()
        self.process.wait(100)  # longer than delivery.timeout.ms: then the driver itself reports what failed
        self._reader.join(10)
        return figures("\n".join(self.lines)), self.process.stderr.read()


@pytest.mark.spec("R1", "R3", "R5", "R7")
def test_a_swap_of_two_addresses_is_rejected_with_129_and_heals(cluster: RoutedCluster, make_topic: MakeTopic) -> None:
    topic = make_topic(6, min_insync_replicas="2")

    def misrouted() -> float:
        return sum(metric(cluster, node_id, _MISROUTED, listener="ROUTED") for node_id in cluster.brokers)

    before = misrouted()
    driver = _Driver(cluster.bootstrap("ROUTED"), topic)
    until(lambda: driver.acknowledged > 400, "the first records")
    cluster.switchboard.swap(line_of(1), line_of(2))
    until(lambda: misrouted() > before, "a rejection with REBOOTSTRAP_REQUIRED")
    cluster.switchboard.restore(line_of(1), line_of(2))
    healed_from = driver.acknowledged
    until(lambda: driver.acknowledged > healed_from + 1_000, "records after the correction")
    seen, errors = driver.stop()
    sent, failed = int(seen["sent"]), {int(each) for each in seen.get("failed-numbers", "").split(",") if each}
    assert int(seen["acknowledged"]) == sent - len(failed), errors
    if failed:
        assert _CLIENT_DEFECT in errors, errors
        assert errors.count("failed: TimeoutException") == len(failed), errors
    found = numbers_in(cluster.bootstrap(), topic, 6)
    numbers = [number for values in found for number in values]
    assert len(numbers) == len(set(numbers)), "no record twice"
    assert set(range(sent)) - failed <= set(numbers) <= set(range(sent)), "each acknowledged record"
    assert all(values == sorted(values) for values in found), "in order within a partition"
