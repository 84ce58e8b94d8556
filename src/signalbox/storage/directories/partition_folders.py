"""The partition folders of a log directory on disk, and the topic id of each (`partition.metadata`).

`partition_folders` reads them without opening a log: for tools, while no broker runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from signalbox.common.ids import ZERO_UUID, TopicPartition, uuid_bytes, uuid_text
from signalbox.storage.files.file_names import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE, partition_of
from signalbox.storage.files.file_system import FileSystem, RealFileSystem, replace_file
from signalbox.storage.leader_epochs import LeaderEpochs


def read_topic_id(folder: str) -> bytes:
    """The topic id in `partition.metadata`, which distinguishes a topic from a deleted one of the same name; zeros if
    the file is missing or has no valid id."""
    try:
        with open(os.path.join(folder, PARTITION_METADATA_FILE), encoding="utf-8") as file:
            fields = dict(line.split(": ", 1) for line in file.read().splitlines() if ": " in line)
        return uuid_bytes(fields["topic_id"].strip())
    except (FileNotFoundError, KeyError, ValueError):
        return ZERO_UUID


def write_topic_id(file_system: FileSystem, folder: str, topic_id: bytes) -> None:
    """Replaces `partition.metadata`."""
    text = f"version: 0\ntopic_id: {uuid_text(topic_id)}\n"
    replace_file(file_system, os.path.join(folder, PARTITION_METADATA_FILE), text.encode())


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """One replica on disk. `leader_epoch` is the last one in its leader-epoch-checkpoint, -1 if there is none."""

    path: str
    topic_partition: TopicPartition
    topic_id: bytes
    leader_epoch: int


def partition_folders(log_dir: str) -> Iterator[PartitionFolder]:
    """The partition folders of one log directory, by name; none if the directory does not exist."""
    if not os.path.isdir(log_dir):
        return
    for name in sorted(os.listdir(log_dir)):
        path, topic_partition = os.path.join(log_dir, name), partition_of(name)
        if topic_partition is None or not os.path.isdir(path):
            continue
        epochs = LeaderEpochs(os.path.join(path, LEADER_EPOCH_FILE), RealFileSystem())
        epochs.load()
        yield PartitionFolder(path, topic_partition, read_topic_id(path), epochs.latest)
