"""AlterReplicaLogDirs: a result for each partition, and what DescribeLogDirs returns during a move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.broker.handlers.log_dirs.alter_replica_log_dirs import AlterReplicaLogDirsHandler
from signalbox.broker.handlers.log_dirs.describe_log_dirs import DescribeLogDirsHandler
from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from signalbox.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of, response_to
from tests.storage.directories.test_log_move import ManualBackground
from tests.storage.workbench import TOPIC_ID, append, batch

pytestmark = pytest.mark.spec("D3")

_R = AlterReplicaLogDirsRequest
ELSEWHERE = cache_of(topics={"flights": {number: (2, [2]) for number in (0, 1, 7)}})


class Disks:
    """Logs of flights-0 and flights-1 in the first of two directories."""

    def __init__(self, folder: Path) -> None:
        self.background = ManualBackground()
        self.a, self.b = str(folder / "a"), str(folder / "b")
        self.logs = LogManager([self.a, self.b], RealFileSystem(), ManualClock(), self.background)
        self.logs.start("cluster", 1)
        for number in (0, 1):
            self.logs.moves.requested_directory(TopicPartition("flights", number))
            log = self.logs.create(TopicPartition("flights", number), TOPIC_ID, LogConfig())
            append(log, batch(3))

    def ask(
        self, *wanted: tuple[str, str, list[int]], version: int = 2, authorizer: Any = ALLOW_ALL
    ) -> dict[str, Error]:
        topic = _R.AlterReplicaLogDirTopic
        dirs = [
            _R.AlterReplicaLogDir(path=path, topics=[topic(name=name, partitions=numbers)])
            for path, name, numbers in wanted
        ]
        handler = AlterReplicaLogDirsHandler(self.logs, ELSEWHERE, authorizer)
        response = response_to(handler, request_of(_R(dirs=dirs), version))
        return {
            f"{topic.topic_name}-{each.partition_index}": Error.of(each.error_code)
            for topic in response.results
            for each in topic.partitions
        }

    def described(self) -> dict[str, dict[int, tuple[bool, bool]]]:
        """By directory and partition: whether the log is a future replica, whether it lags."""
        handler = DescribeLogDirsHandler(self.logs, ALLOW_ALL)
        response = response_to(handler, request_of(DescribeLogDirsRequest(topics=None), 4))
        return {
            Path(result.log_dir).name: {
                each.partition_index: (each.is_future_key, each.offset_lag > 0)
                for topic in result.topics
                for each in topic.partitions
            }
            for result in response.results
        }


@pytest.mark.parametrize("version", [1, 2])
def test_each_partition_has_its_result(tmp_path: Path, version: int) -> None:
    disks = Disks(tmp_path)
    first = disks.logs.get(TopicPartition("flights", 0))
    assert first is not None
    where = first.body.directory.path
    other = disks.b if where == disks.a else disks.a
    wanted = [(other, "flights", [0, 7, 8]), (other, "nowhere", [0]), ("/nowhere", "flights", [1])]
    assert disks.ask(*wanted, version=version) == {
        "flights-0": Error.NONE,
        "flights-7": Error.REPLICA_NOT_AVAILABLE,
        "flights-8": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "nowhere-0": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "flights-1": Error.LOG_DIR_NOT_FOUND,
    }
    assert disks.described()[Path(other).name][0] == (True, False), "all is planned, nothing is there"
    assert disks.described()[Path(where).name][0] == (False, False)
    while disks.background.resume():
        pass
    assert disks.described()[Path(other).name][0] == (False, False)
    assert 0 not in disks.described()[Path(where).name]


@pytest.mark.parametrize("version", [1, 2])
def test_alter_on_the_cluster_is_needed(tmp_path: Path, version: int) -> None:
    disks = Disks(tmp_path)
    rejected = disks.ask((disks.b, "flights", [0]), version=version, authorizer=acl(("alice", "DESCRIBE", "cluster")))
    assert rejected == {"flights-0": Error.CLUSTER_AUTHORIZATION_FAILED}
    assert list(disks.logs.moves) == []
