"""Partition folders are read without opening a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.ids import ZERO_UUID, TopicPartition, new_uuid, uuid_text
from signalbox.storage.directories.partition_folders import (
    PartitionFolder,
    partition_folders,
    read_topic_id,
    write_topic_id,
)
from signalbox.storage.files.file_system import RealFileSystem

pytestmark = pytest.mark.spec("D2")


def test_partition_folders_of_a_log_directory(tmp_path: Path) -> None:
    assert list(partition_folders(str(tmp_path / "none"))) == []
    topic_id = new_uuid()
    for name in ("t-0", "t-1", "no-partition", "t-2.0123456789abcdef0123456789abcdef-delete"):
        (tmp_path / name).mkdir()
    (tmp_path / "file-3").write_text("not a folder")
    write_topic_id(RealFileSystem(), str(tmp_path / "t-0"), topic_id)
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n7 41\n")
    (tmp_path / "t-1" / "leader-epoch-checkpoint").write_text("torn")
    assert list(partition_folders(str(tmp_path))) == [
        PartitionFolder(str(tmp_path / "t-0"), TopicPartition("t", 0), topic_id, 7),
        PartitionFolder(str(tmp_path / "t-1"), TopicPartition("t", 1), ZERO_UUID, -1),
    ]


def test_the_topic_id_is_kept_in_kafkas_form(tmp_path: Path) -> None:
    topic_id = new_uuid()
    write_topic_id(RealFileSystem(), str(tmp_path), topic_id)
    text = (tmp_path / "partition.metadata").read_text()
    assert text == f"version: 0\ntopic_id: {uuid_text(topic_id)}\n"
    assert read_topic_id(str(tmp_path)) == topic_id


@pytest.mark.parametrize("text", [None, "", "version: 0\n", "version: 0\ntopic_id: short\n"])
def test_without_a_readable_file_the_id_is_zero(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "partition.metadata").write_text(text)
    assert read_topic_id(str(tmp_path)) == ZERO_UUID
