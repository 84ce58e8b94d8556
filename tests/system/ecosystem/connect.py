"""Kafka Connect, distributed, with an exactly-once source: two workers over their three compacted topics.

The source is a file that grows. The worker that runs its task is killed while it does, each broker too, and the topic
has every line once, in order.
"""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.system.ecosystem.committed_records import CommittedRecords, committed
from tests.system.ecosystem.connect_worker import STORAGE_TOPICS, ConnectWorker
from tests.system.ecosystem.java_program import pinned_version
from tests.system.ecosystem.program import Program
from tests.system.ecosystem.shaken_cluster import ShakenCluster
from tests.waiting import until

_LINES = "lines"
_PIECE = 400
_START_S = 240.0


class GrowingFile:
    """A file with a number on each line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = 0

    def grow(self) -> None:
        with self.path.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self.lines, self.lines + _PIECE))
        self.lines += _PIECE


def run(folder: Path) -> str:
    file = GrowingFile(folder / "lines.txt")
    file.grow()
    with ShakenCluster(folder) as cluster:
        cluster.create({_LINES: 1})
        with (
            CommittedRecords(cluster.bootstrap, {_LINES: 1}) as progress,
            ConnectWorker(cluster.bootstrap, folder, "one") as one,
            ConnectWorker(cluster.bootstrap, folder, "two") as two,
        ):
            _start_task(file, one, two)
            progress.read_until(file.lines)
            _kill_broker(cluster, file, progress, 1)
            killed, survivor = (one, two) if _running_task(one) == one.worker_id else (two, one)
            _kill_worker(killed, file, cluster)
            progress.read_until(file.lines)
            for node_id in (2, 3):
                _kill_broker(cluster, file, progress, node_id)
            assert _running_task(survivor) == survivor.worker_id
        found = [value.decode() for _, value in committed(cluster.bootstrap, {_LINES: 1})[_LINES]]
        assert found == [f"line {number}" for number in range(file.lines)], _difference(found, file.lines)
        policies = _cleanup_policies(cluster)
    assert set(policies) == {"compact"}, f"the topics of Connect have {policies}"
    return f"{file.lines} lines, {cluster.kills} brokers and the worker of the task killed"


def _start_task(file: GrowingFile, one: ConnectWorker, two: ConnectWorker) -> None:
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(file.path),
        "topic": _LINES,
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
    }
    until(lambda: one.configure(_LINES, config), "the connector", _START_S)
    for worker in (one, two):
        _running_task(worker)


def _running_task(worker: ConnectWorker) -> str:
    return until(lambda: worker.running_task(_LINES), "the task", _START_S)


def _kill_broker(cluster: ShakenCluster, file: GrowingFile, progress: CommittedRecords, node_id: int) -> None:
    """The file is read while the broker is away."""
    file.grow()
    with cluster.without(node_id):
        file.grow()
        progress.read_until(file.lines)


def _kill_worker(worker: ConnectWorker, file: GrowingFile, cluster: ShakenCluster) -> None:
    """Kills it when it has begun to write what is new, committed or not yet."""
    with CommittedRecords(cluster.bootstrap, {_LINES: 1}, "read_uncommitted") as early:
        early.read_until(file.lines)
        begun = early.count() + 1
        file.grow()
        early.read_until(begun)
    worker.kill()
    file.grow()


def _difference(found: list[str], count: int) -> str:
    expected = {f"line {number}" for number in range(count)}
    return f"{len(found)} records, of {count} lines {len(expected - set(found))} are lost"


def _cleanup_policies(cluster: ShakenCluster) -> list[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    topics = [ConfigResource(ResourceType.TOPIC, name) for name in STORAGE_TOPICS]
    return [str(configs.result(30)["cleanup.policy"].value) for configs in admin.describe_configs(topics).values()]


PROGRAM = Program(
    "kafka-connect",
    lambda: pinned_version("connect", "connect-runtime"),
    "exactly-once source, two workers, each line once in order",
    run,
)
