"""Flink's Kafka sink with exactly-once, in a mini cluster: numbers are read from a topic, their doubles written.

The job is killed between two checkpoints, and restored from the last complete one; each broker is killed too. The
target has every double once. Flink names its transactional ids in two ways; with POOLING a job that is restored asks
the brokers for the open transactions (ListTransactions, DescribeTransactions).
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from tests.system.ecosystem.committed_records import CommittedRecords, committed
from tests.system.ecosystem.java_program import JavaProgram, pinned_version
from tests.system.ecosystem.program import Program
from tests.system.ecosystem.shaken_cluster import ShakenCluster, Written
from tests.system.provision import java, java_class
from tests.waiting import until

_SOURCE, _TARGET = "numbers", "doubles"
_PIECE = 300
_TARGETS = {_TARGET: 2}
_CHECKPOINT_S = 120.0
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
# What Flink's own scripts open for its serializers.
_OPENED = ("java.lang", "java.lang.reflect", "java.net", "java.nio", "java.text", "java.time", "java.util")
_OPEN = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (*_OPENED, "java.util.concurrent")]


class Numbers:
    """The source, in pieces."""

    def __init__(self, cluster: ShakenCluster) -> None:
        self._cluster = cluster
        self.count = 0

    def write(self) -> None:
        self._cluster.write(_SOURCE, (Written(str(number)) for number in range(self.count, self.count + _PIECE)))
        self.count += _PIECE


def run(naming: str, folder: Path) -> str:
    with ShakenCluster(folder) as cluster:
        cluster.create({_SOURCE: 2, **_TARGETS})
        numbers = Numbers(cluster)
        with CommittedRecords(cluster.bootstrap, _TARGETS) as progress:
            with _start(folder, cluster, naming, "-") as job:
                numbers.write()
                progress.read_until(numbers.count)
                _kill_broker(cluster, numbers, progress, 1)
                checkpoint = _last_checkpoint(folder)
                numbers.write()
                until(lambda: _last_checkpoint(folder) != checkpoint, "one more checkpoint", _CHECKPOINT_S)
                numbers.write()
                job.kill()
            with _start(folder, cluster, naming, _last_checkpoint(folder)) as job:
                progress.read_until(numbers.count)
                for node_id in (2, 3):
                    _kill_broker(cluster, numbers, progress, node_id)
                job.close()
        doubles = Counter(int(value) for _, value in committed(cluster.bootstrap, _TARGETS)[_TARGET])
    expected = Counter(2 * number for number in range(numbers.count))
    assert doubles == expected, f"{len(expected - doubles)} are lost, {len(doubles - expected)} too many"
    return f"{numbers.count} records, {cluster.kills} brokers killed, the job killed and restored"


def _kill_broker(cluster: ShakenCluster, numbers: Numbers, progress: CommittedRecords, node_id: int) -> None:
    """The job goes on while the broker is away."""
    numbers.write()
    with cluster.without(node_id):
        numbers.write()
        progress.read_until(numbers.count)


def _last_checkpoint(folder: Path) -> str:
    """The folder of the last complete checkpoint of the first job."""
    complete = (folder / "checkpoints").glob("*/chk-*/_metadata")
    return str(max((file.parent for file in complete), key=lambda chk: int(chk.name.removeprefix("chk-"))))


def _start(folder: Path, cluster: ShakenCluster, naming: str, checkpoint: str) -> JavaProgram:
    program = [*java(_QUIET, *_OPEN, heap="768m"), "-cp", java_class("FlinkJob.java", "flink"), "FlinkJob"]
    arguments = [cluster.bootstrap, _SOURCE, _TARGET, str(folder / "checkpoints"), checkpoint, naming]
    job = JavaProgram([*program, *arguments], folder / "flink.log")
    job.wait_for("started")
    return job


def _version() -> str:
    sink = pinned_version("flink", "flink-connector-kafka")
    return f"{pinned_version('flink', 'flink-clients')}, connector {sink}"


def _program(name: str, naming: str) -> Program:
    return Program(name, _version, f"exactly-once sink, {naming.lower()} ids, each record once", partial(run, naming))


PROGRAMS = (_program("flink", "INCREMENTING"), _program("flink-pooling", "POOLING"))
