"""Corrupt batches: a batch in a log that differs from what was appended. Its position, its fault, and the check that
finds it.

The check of a part of a segment has the same rules as recovery: complete batches, their checksums, and the order of
offsets and leader epochs (`batch_order.py`), which no checksum covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from crc32c import crc32c

from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.records.batch_header import HEADER_SIZE, BatchHeader
from signalbox.storage.segments.segment_scan import CRC_START, header_at
from signalbox.storage.validation.batch_order import BatchOrder

PIECE_BYTES = 1 << 17
LARGEST_BATCH_BYTES = 100 << 20  # no request is larger (socket.request.max.bytes)
_CRC_PIECE_BYTES = 65_536


class Corruption(NamedTuple):
    """The first known corrupt batch of a log: everything before `offset` is intact. `position` is where the batch
    begins in the file of the segment with this base offset."""

    offset: int
    segment_base_offset: int
    position: int
    reason: str


class SegmentCheck:
    """Checks one segment, piece by piece; `position` is where the next piece must begin."""

    __slots__ = ("_base_offset", "_from_offset", "bytes_checked", "order", "position")

    def __init__(self, base_offset: int, order: BatchOrder, position: int = 0, from_offset: int = 0) -> None:
        self._base_offset = base_offset
        self._from_offset = from_offset  # the log start offset: records before it are never read
        self.order = order
        self.position = position
        self.bytes_checked = 0

    def bytes_needed(self, piece: bytes, end: int) -> int:
        """The number of bytes that the batch at `position` needs, as far as `piece` has its header, up to `end`."""
        header = header_at(piece, 0, self.position) if len(piece) >= HEADER_SIZE else None
        size_bytes = header.size_bytes if header is not None else 0
        return min(size_bytes, end - self.position) if size_bytes <= LARGEST_BATCH_BYTES else 0

    def run(self, read: Callable[[int, int], bytes], stop: int, end: int) -> Corruption | None:
        """Checks at least up to `stop`, in a segment whose batches end at `end`; `read` takes position and size. A file
        that ends earlier has no complete batch there. Yields."""
        while self.position < stop:
            needed = max(HEADER_SIZE, self.bytes_needed(read(self.position, HEADER_SIZE), end))
            position = self.position
            corruption = self.check(read(position, max(needed, min(PIECE_BYTES, stop - position))), end)
            if corruption is None and self.position == position:
                corruption = self._corruption_here("no complete batch")
            if corruption is not None:
                return corruption
        return None

    def check(self, piece: bytes | memoryview, end: int) -> Corruption | None:
        """Checks the complete batches of `piece`, which was read at `position`; the segment's batches end at `end`.
        Yields."""
        view, at = memoryview(piece), 0
        while at < len(view):
            header = header_at(view, at, self.position) if at + HEADER_SIZE <= len(view) else None
            size = header.size_bytes if header is not None else HEADER_SIZE
            fits = size <= LARGEST_BATCH_BYTES and self.position + size <= end
            if at + size > len(view) and fits:
                return None  # the next piece has the complete batch
            if header is None or not fits:
                return self._corruption_here("no complete batch")
            corruption = self._corruption_of(header, view[at : at + size])
            if corruption is not None:
                return corruption
            at += size
            self.position += size
            self.bytes_checked += size
            yield_if_due()
        return None

    def corruption_before_segment(self, base_offset: int) -> Corruption | None:
        """The corruption at the end of this segment if the next segment, which begins at `base_offset`, cannot follow
        it."""
        corruption = self._corruption_behind_gap(base_offset)
        if corruption is not None or self.order.may_begin_at(base_offset):
            return corruption
        return self._corruption_here(
            f"the next segment begins at offset {base_offset} instead of {self.order.next_offset}"
        )

    def _corruption_here(self, reason: str) -> Corruption:
        return Corruption(self.order.next_offset, self._base_offset, self.position, reason)

    def _corruption_of(self, header: BatchHeader, data: memoryview) -> Corruption | None:
        """Yields."""
        if self.order.next_offset == header.base_offset and header.next_offset <= self._from_offset:
            self.order.continue_at(header.next_offset)
            return None
        checksum = 0
        for piece in _pieces(data[CRC_START:]):
            checksum = crc32c(piece, checksum)
            yield_if_due()
        if checksum != header.crc:
            return self._corruption_here(f"checksum {header.crc:#010x} instead of {checksum:#010x}")
        corruption = self._corruption_behind_gap(header.base_offset)
        reason = self.order.fault(header) if corruption is None else None
        return corruption if reason is None else self._corruption_here(reason)

    def _corruption_behind_gap(self, next_base_offset: int) -> Corruption | None:
        batch = self.order.corrupt_before(next_base_offset)
        if batch is None:
            return None
        return Corruption(batch.offset, self._base_offset, batch.position, batch.fault(next_base_offset))


def _pieces(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(data), _CRC_PIECE_BYTES):
        yield data[start : start + _CRC_PIECE_BYTES]
