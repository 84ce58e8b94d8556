"""Partition folders that Apache Kafka 4.4 and Signalbox use alternately (SPEC D2).

Batches of every codec, committed and aborted transactions, a compacted topic. Kafka 4 has no ZooKeeper, so each side
keeps its own metadata, and the content of the folders is carried from one to the other while both are stopped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer

from signalbox.testing.process_cluster import ProcessCluster
from tests.pipeline.apache_kafka import apache_kafka
from tests.system.provision import command, java_class
from tests.system.zookeeper.test_log_directory_of_kafka import Rows, create_topics, latest, read, write
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.spec("D2"), pytest.mark.spec("D5", "D6")]

_FOLDERS = ("mixed-0", "mixed-1", "compacted-0")
_LEVELS = ("read_committed", "read_uncommitted")
_SETTINGS = {
    "log.cleaner.backoff.ms": "200",
    "log.segment.delete.delay.ms": "0",
    "log.initial.task.delay.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
}
_OWN_SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


class Side:
    """One of the two: `logs` is its log directory."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self.logs = folder / ("logs" if name == "kafka" else "broker-1/data")

    @contextmanager
    def running(self) -> Iterator[str]:
        """Its bootstrap address; a controlled shutdown at the end."""
        if self.name == "kafka":
            with apache_kafka(self._folder, _SETTINGS) as bootstrap:
                yield bootstrap
        else:
            with ProcessCluster(self._folder, 1, overrides={**_SETTINGS, **_OWN_SETTINGS}) as cluster:
                yield cluster.bootstrap()

    def use_producer_ids(self) -> None:
        """Takes a block of producer ids: each run of a broker has another block of a thousand, and both sides begin
        with the same one."""
        with self.running() as bootstrap:
            Producer({"bootstrap.servers": bootstrap, "transactional.id": "other"}).init_transactions(60)

    def cleaned_to(self) -> int:
        """The offset below which the compacted topic is compacted."""
        path = self.logs / "cleaner-offset-checkpoint"
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return next((int(row[2]) for row in rows if row[:1] == ["compacted"]), 0)


def carry(source: Side, target: Side) -> None:
    """Replaces what the partitions have at `target`. Their topic ids stay: they belong to the metadata."""
    for name in _FOLDERS:
        for file in [each for each in (target.logs / name).iterdir() if each.name != "partition.metadata"]:
            file.unlink()
        for file in [each for each in (source.logs / name).iterdir() if each.name != "partition.metadata"]:
            shutil.copy2(file, target.logs / name)


def read_all(bootstrap: str) -> dict[str, Rows]:
    return {level: read(bootstrap, "mixed", level) for level in _LEVELS}


def test_partition_folders_are_carried_there_and_back(tmp_path: Path) -> None:
    theirs, ours = Side("kafka", tmp_path / "kafka"), Side("signalbox", tmp_path / "signalbox")
    with ours.running() as bootstrap:
        create_topics(bootstrap)
    for _ in range(2):
        ours.use_producer_ids()
    seen: dict[str, Rows] = {}
    last = ""
    for number, (side, source) in enumerate(((theirs, None), (ours, theirs), (theirs, ours))):
        if source is not None:
            carry(source, side)
        with side.running() as bootstrap:
            if source is None:
                create_topics(bootstrap)
            else:
                assert read_all(bootstrap) == seen, f"{side.name} reads what {source.name} has written"
                assert latest(bootstrap) == {f"key-{key}": f"{last}-committed" for key in range(20)}
            last = f"{side.name}-{number}"
            cleaned = side.cleaned_to()
            write(bootstrap, last)
            until(lambda low=cleaned, at=side: at.cleaned_to() > low, f"a compaction by {side.name}")  # type: ignore[misc]
            assert latest(bootstrap) == {f"key-{key}": f"{last}-committed" for key in range(20)}
            seen = read_all(bootstrap)
            keys = [key for _, _, key in seen["read_committed"]]
            assert len(keys) == len(set(keys)) == (number + 1) * 220
            assert len(seen["read_uncommitted"]) == len(keys) + (number + 1) * 20
