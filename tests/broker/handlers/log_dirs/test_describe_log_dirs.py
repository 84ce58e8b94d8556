"""DescribeLogDirs of a real broker: directories and their partitions, at every version."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from signalbox.broker.handlers.log_dirs.describe_log_dirs import DescribeLogDirsHandler
from signalbox.common.clock import SystemClock
from signalbox.common.ids import TopicPartition, new_uuid
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from signalbox.storage.files.background import Background
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of, response_to
from tests.storage.directories.test_log_move import ManualBackground


def start(*folders: Path, background: Background | None = None) -> LogManager:
    logs = LogManager([str(folder) for folder in folders], RealFileSystem(), SystemClock(), background)
    logs.start("cluster", 1)
    return logs


def ask(logs: LogManager, version: int, topics: Any = None, authorizer: Any = ALLOW_ALL) -> Any:
    handler = DescribeLogDirsHandler(logs, authorizer)
    return response_to(handler, request_of(DescribeLogDirsRequest(topics=topics), version))


def listed(response: Any) -> dict[str, dict[str, list[int]]]:
    return {
        Path(each.log_dir).name: {topic.name: [p.partition_index for p in topic.partitions] for topic in each.topics}
        for each in response.results
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_what_lies_where(tmp_path: Path, version: int) -> None:
    logs = start(tmp_path / "a", tmp_path / "b")
    for number in range(3):
        logs.create(TopicPartition("t", number), new_uuid(), LogConfig())
    logs.create(TopicPartition("u", 0), new_uuid(), LogConfig())
    response = ask(logs, version)
    assert response.error_code == Error.NONE
    assert listed(response) == {"a": {"t": [0, 2]}, "b": {"t": [1], "u": [0]}}
    sizes = [part.partition_size for each in response.results for topic in each.topics for part in topic.partitions]
    assert sizes == [0] * 4
    disk = shutil.disk_usage(tmp_path)
    assert {each.total_bytes for each in response.results} == ({disk.total} if version >= 4 else {-1})
    named = DescribeLogDirsRequest.DescribableLogDirTopic(topic="t", partitions=[1, 2, 9])
    assert listed(ask(logs, version, [named])) == {"a": {"t": [2]}, "b": {"t": [1]}}
    assert listed(ask(logs, version, [])) == {"a": {}, "b": {}}
    logs.close()


@pytest.mark.parametrize("version", [2, 3])
def test_without_the_right_nothing_is_listed(tmp_path: Path, version: int) -> None:
    logs = start(tmp_path / "a")
    rejected = ask(logs, version, authorizer=acl(("alice", "DESCRIBE", "t")))
    assert rejected.results == []
    assert rejected.error_code == (Error.CLUSTER_AUTHORIZATION_FAILED if version >= 3 else Error.NONE)
    assert listed(ask(logs, version, authorizer=acl(("alice", "DESCRIBE", "cluster")))) == {"a": {}}
    logs.close()


def test_a_log_that_moves_is_listed_at_its_target_too(tmp_path: Path) -> None:
    logs = start(tmp_path / "a", tmp_path / "b", background=ManualBackground())  # nothing is copied
    for topic in ("t", "u"):
        logs.create(TopicPartition(topic, 0), new_uuid(), LogConfig())
    held = logs.get(TopicPartition("t", 0))
    assert held is not None
    other = next(each.path for each in logs.directories if each is not held.body.directory)
    logs.moves.move(TopicPartition("t", 0), other)

    def future(*topics: str) -> list[tuple[str, str]]:
        named = [DescribeLogDirsRequest.DescribableLogDirTopic(topic=topic, partitions=[0]) for topic in topics]
        return [
            (each.log_dir, topic.name)
            for each in ask(logs, 5, named or None).results
            for topic in each.topics
            for partition in topic.partitions
            if partition.is_future_key
        ]

    assert future() == future("t") == future("u", "t") == [(other, "t")]
    assert future("u") == []
    logs.close()


def test_a_failed_directory_is_reported(tmp_path: Path) -> None:
    logs = start(tmp_path / "a", tmp_path / "b")
    logs.create(TopicPartition("t", 0), new_uuid(), LogConfig())
    logs.directories[0].fail(OSError("gone"), "testing")
    response = ask(logs, 5)
    assert [each.error_code for each in response.results] == [Error.KAFKA_STORAGE_ERROR, Error.NONE]
    assert listed(response) == {"a": {}, "b": {}}
    logs.close()


def test_an_unmounted_volume_is_reported(tmp_path: Path) -> None:
    logs = start(tmp_path / "a")
    shutil.rmtree(tmp_path / "a")
    assert [each.error_code for each in ask(logs, 5).results] == [Error.KAFKA_STORAGE_ERROR]
