"""Checks that all replicas are identical, byte for byte, up to the high watermark. Reads the disks of a stopped
cluster.

A partition's log is the sequence of its batches; each broker splits it into segments on its own. The high watermark is
the one in `replication-offset-checkpoint`. Each broker compacts its logs on its own: of a compacted topic the last
record of each key is compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.protocol.records.record_batch import decode_records, encode_batch
from signalbox.storage.files.checkpoint_file import read_offsets
from signalbox.storage.files.file_names import HIGH_WATERMARK_FILE, LOG_SUFFIX, offset_name, offsets_in, partition_of


@dataclass(frozen=True, slots=True)
class Comparison:
    """The amount that was compared, and every difference in words. `high_watermarks`: the lowest of each partition."""

    partitions: int
    replicas: int
    size_bytes: int
    differences: tuple[str, ...]
    high_watermarks: dict[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class _Replica:
    owner: str
    folder: Path
    high_watermark: int

    @property
    def start(self) -> int:
        return min(offsets_in(str(self.folder), LOG_SUFFIX), default=0)


def compare_replicas(log_dirs: Mapping[str, Path], compacted: Set[str] = frozenset()) -> Comparison:
    """Compares every partition in the log directories of different brokers (by a name for each). `compacted`: topics
    without transactions of which older records of a key may be missing."""
    replicas: dict[TopicPartition, list[_Replica]] = defaultdict(list)
    for owner, directory in log_dirs.items():
        high_watermarks = read_offsets(str(directory / HIGH_WATERMARK_FILE))
        for folder in sorted(directory.iterdir()) if directory.is_dir() else ():
            partition = partition_of(folder.name) if folder.is_dir() else None
            if partition is not None:
                replicas[partition].append(_Replica(owner, folder, high_watermarks.get(partition, 0)))
    size, differences = 0, []
    for partition, copies in sorted(replicas.items()):
        compared, found = _compare(partition, copies, is_compacted=partition.topic in compacted)
        size += compared
        differences += found
    return Comparison(
        partitions=len(replicas),
        replicas=sum(map(len, replicas.values())),
        size_bytes=size,
        differences=tuple(differences),
        high_watermarks={
            partition: min(copy.high_watermark for copy in copies) for partition, copies in replicas.items()
        },
    )


def _compare(partition: TopicPartition, copies: list[_Replica], *, is_compacted: bool) -> tuple[int, list[str]]:
    """The number of bytes of one copy that were compared with the others, and the differences."""
    start = max(copy.start for copy in copies)
    end = min(copy.high_watermark for copy in copies)
    differences = []
    first: bytes | None = None
    for copy in copies:
        try:
            stream, last = _stream(copy.folder, start, end)
            if is_compacted:
                stream = _last_of_each_key(stream)
        except (KafkaError, OSError) as error:
            differences.append(f"{partition.topic}-{partition.partition} of {copy.owner}: {error}")
            continue
        if last < end:
            differences.append(
                f"{partition.topic}-{partition.partition} of {copy.owner} ends at {last}, below the mark {end}"
            )
        if first is None:
            first = stream
        elif stream != first:
            differences.append(_first_difference(partition, copies[0].owner, first, copy.owner, stream))
    return len(first or b""), differences


def _stream(folder: Path, start: int, end: int) -> tuple[bytes, int]:
    """The batches from offset `start` up to `end`, and the offset after the last of them."""
    pieces, last = [], start
    for base_offset in offsets_in(str(folder), LOG_SUFFIX):
        data = (folder / offset_name(base_offset, LOG_SUFFIX)).read_bytes()
        for header in iter_batch_headers(data):
            if header.base_offset >= start and header.next_offset <= end:
                pieces.append(data[header.position : header.position + header.size_bytes])
                last = header.next_offset
    return b"".join(pieces), last


def _last_of_each_key(stream: bytes) -> bytes:
    """A batch for the last record of each key, without those that delete theirs, in the order of the keys."""
    last = {record.key or b"": record for record in decode_records(stream)}
    return b"".join(
        encode_batch([record], base_offset=record.offset)
        for _, record in sorted(last.items())
        if record.value is not None
    )


def _first_difference(partition: TopicPartition, owner: str, ours: bytes, other: str, theirs: bytes) -> str:
    name = f"{partition.topic}-{partition.partition}"
    for mine, their in zip(iter_batch_headers(ours), iter_batch_headers(theirs), strict=False):
        same_bytes = (
            ours[mine.position : mine.position + mine.size_bytes]
            == (theirs[their.position : their.position + their.size_bytes])
        )
        if not same_bytes:
            return f"{name} differs: {owner} has {mine}, {other} has {their}"
    return f"{name} differs in length: {owner} {len(ours)}, {other} {len(theirs)} bytes"
