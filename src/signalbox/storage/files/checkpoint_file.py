"""Kafka's checkpoint files: a version line, a count line, then one line per entry.

`recovery-point-offset-checkpoint`, `replication-offset-checkpoint` and `log-start-offset-checkpoint` of a log directory
hold `topic partition offset`; `leader-epoch-checkpoint` of a partition holds `epoch offset`. Callers treat a file that
cannot be parsed as absent: its content can be restored from the logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import TopicPartition
from signalbox.storage.files.file_system import FileSystem, replace_file

VERSION = 0


class CheckpointFault(ValueError):
    """The file is not a checkpoint: the message has the file, the line, and what is wrong."""


def read_lines(path: str, fields: int) -> list[list[str]]:
    """The entries of a checkpoint file, split into `fields` words each; empty if there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise CheckpointFault(f"{path}: not text") from error
    if len(lines) < 2 or lines[0].strip() != str(VERSION) or not lines[1].strip().isdecimal():
        raise CheckpointFault(f"{path}: expected version {VERSION} and a count in the first two lines")
    entries = [line.split() for line in lines[2:] if line.strip()]
    if len(entries) != int(lines[1]):
        raise CheckpointFault(f"{path}: {len(entries)} entries instead of {lines[1].strip()}")
    for number, words in enumerate(entries, 3):
        if len(words) != fields:
            raise CheckpointFault(f"{path}:{number}: expected {fields} words")
    return entries


def write_lines(file_system: FileSystem, path: str, lines: Iterable[str], sync: bool = False) -> None:
    """Replaces a checkpoint file by one with `lines`. Does not yield: epochs are written in the middle of a change of
    role."""
    replace_file(file_system, path, checkpoint_text(list(lines)).encode(), sync)


def checkpoint_text(lines: Sequence[str]) -> str:
    """The text of a checkpoint file with `lines`."""
    return "\n".join([str(VERSION), str(len(lines)), *lines]) + "\n"


def read_offsets(path: str) -> dict[TopicPartition, int]:
    """The offsets by partition of a log directory's checkpoint."""
    offsets = {}
    for topic, partition, offset in read_lines(path, 3):
        try:
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            raise CheckpointFault(f"{path}: {topic} {partition} {offset}: not numbers") from error
    return offsets


def offset_lines(offsets: Mapping[TopicPartition, int]) -> list[str]:
    """The lines of a log directory's checkpoint. Yields."""
    return [f"{topic} {partition} {offset}" for (topic, partition), offset in yielding(offsets.items())]
