"""`partition.metadata`: the topic id of a partition's folder, to distinguish a topic from a deleted one of the same
name."""

from __future__ import annotations

import os

from signalbox.common.ids import ZERO_UUID, uuid_bytes, uuid_text
from signalbox.storage.files.file_names import PARTITION_METADATA_FILE
from signalbox.storage.files.file_system import FileSystem, replace_file


def read_topic_id(folder: str) -> bytes:
    """The topic id, zeros if the file is missing or has no valid id."""
    try:
        with open(os.path.join(folder, PARTITION_METADATA_FILE), encoding="utf-8") as file:
            fields = dict(line.split(": ", 1) for line in file.read().splitlines() if ": " in line)
        return uuid_bytes(fields["topic_id"].strip())
    except (FileNotFoundError, KeyError, ValueError):
        return ZERO_UUID


def write_topic_id(file_system: FileSystem, folder: str, topic_id: bytes) -> None:
    """Replaces the file."""
    text = f"version: 0\ntopic_id: {uuid_text(topic_id)}\n"
    replace_file(file_system, os.path.join(folder, PARTITION_METADATA_FILE), text.encode())
