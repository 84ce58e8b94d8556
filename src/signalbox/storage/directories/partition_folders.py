"""The partition folders of a log directory on disk, read without opening a log: for tools, while no broker runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from signalbox.common.ids import TopicPartition
from signalbox.storage.directories.partition_metadata import read_topic_id
from signalbox.storage.files.file_names import LEADER_EPOCH_FILE, partition_of
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.leader_epochs import LeaderEpochs


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
