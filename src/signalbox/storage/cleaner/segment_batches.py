"""The batches of a segment with their bytes, in chunks of the cleaner's I/O buffer.

Unlike recovery, which ends at the first batch that is not complete, the cleaner must not go on without it: it would
remove records that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crc32c import crc32c

from signalbox.protocol.records.batch_header import HEADER_SIZE, BatchHeader
from signalbox.storage.cleaner.worker_port import CleaningFault, SegmentSource
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.segments.segment_scan import CRC_START, header_at
from signalbox.storage.validation.corruption import LARGEST_BATCH_BYTES

Batches = Iterator[list[tuple[BatchHeader, memoryview]]]


def batch_chunks(
    file_system: FileSystem, source: SegmentSource, buffer_bytes: int, on_read: Callable[[int], None]
) -> Batches:
    """The batches, chunk by chunk; a batch that is larger than the buffer is a chunk of its own. CleaningFault if a
    batch is corrupt or not complete."""
    position, needed = source.position, 0
    while position < source.end:
        size = min(max(buffer_bytes, needed), source.end - position)
        chunk = memoryview(file_system.pread(source.fd, size, position))
        on_read(len(chunk))
        if len(chunk) < size:
            raise CleaningFault(f"the file ends at position {position + len(chunk)} instead of {source.end}")
        batches, at, needed = [], 0, 0
        while at + HEADER_SIZE <= size:
            batch = header_at(chunk, at, position + at)
            if batch is None:
                raise CleaningFault(f"no batch begins at position {position + at}")
            if batch.size_bytes > LARGEST_BATCH_BYTES:
                raise CleaningFault(f"the batch at position {position + at} is too large: {batch.size_bytes} bytes")
            if batch.size_bytes > size - at:
                needed = batch.size_bytes
                break
            batches.append((batch, _checked(chunk[at : at + batch.size_bytes], batch)))
            at += batch.size_bytes
        needed = max(needed, HEADER_SIZE)
        if not at and needed > source.end - position:
            raise CleaningFault(f"the batch at position {position} is not complete")
        position += at
        if batches:
            yield batches


def _checked(data: memoryview, batch: BatchHeader) -> memoryview:
    if crc32c(data[CRC_START:]) != batch.crc:
        message = f"the batch at offset {batch.base_offset} is corrupt: its checksum is wrong"
        raise CleaningFault(message, batch.base_offset)
    return data
