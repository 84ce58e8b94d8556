"""Partition folders are read without opening a log."""

from __future__ import annotations

from pathlib import Path

from signalbox.common.ids import ZERO_UUID, TopicPartition, new_uuid
from signalbox.storage.directories.partition_folders import PartitionFolder, partition_folders
from signalbox.storage.directories.partition_metadata import write_topic_id
from signalbox.storage.files.file_system import RealFileSystem


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
