"""Look-ups of offsets on pages that are not in the page cache: a thread reads them before the fetch begins to read.

A consumer or follower that is far behind makes the broker search its offset in an old segment. That search reads a page
or two of the file, and on a slow disk each takes milliseconds. The records themselves are read by transport.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.file_slice import FileSlice, PageReads
from signalbox.replication.fetch.fetch_session import SessionPartition
from signalbox.replication.hosted_partitions import HostedPartitions

_MOST_PIECES = 32  # of a fetch; further ones are read where they are needed


class UncachedLookups:
    """`run_long` runs work as a cooperative task."""

    def __init__(
        self, hosted: HostedPartitions, page_reads: PageReads, run_long: Callable[[Callable[[], None]], None]
    ) -> None:
        self._hosted = hosted
        self._page_reads = page_reads
        self._run_long = run_long

    def of(self, partitions: Iterable[SessionPartition], in_session: bool) -> list[FileSlice]:
        """What the look-ups of the next fetch of these partitions would wait for. Yields, except with a session, which
        another request may close meanwhile."""
        return list(islice(self._pieces(partitions, in_session), _MOST_PIECES))

    def _pieces(self, partitions: Iterable[SessionPartition], in_session: bool) -> Iterator[FileSlice]:
        """Yields, as `of` does."""
        for session_partition in partitions:
            if not in_session:
                yield_if_due()
            partition = self._hosted.get(session_partition.topic, session_partition.key.partition)
            log = None if partition is None else partition.log
            if log is not None and session_partition.fetch_offset < log.log_end_offset:
                piece = log.uncached_lookup(session_partition.fetch_offset, self._page_reads.is_resident)
                if piece is not None:
                    yield piece

    def read(self, pieces: list[FileSlice], then: Callable[[], None]) -> None:
        """Runs `then` when all pieces have been read."""
        missing = len(pieces)

        def count() -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                self._run_long(then)

        for piece in pieces:
            self._page_reads.prefetch(piece, count)
