"""The scrub: reads all segments of all logs, piece by piece, to find corrupt batches before they are needed. This
module selects the next piece and checks it; `server/scrubbing.py` reads it and controls the rate.

Logs change meanwhile. Segments that were truncated, moved or deleted since a log's first piece are left for the next
pass. A piece that looks corrupt is read once more, without a yield in between, before the corruption is reported.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from signalbox.common.cooperative_task import no_yield
from signalbox.common.file_slice import FileSlice
from signalbox.common.metrics import MetricName, Metrics
from signalbox.storage.files.background import Background
from signalbox.storage.log import Log
from signalbox.storage.segments.segment import Segment
from signalbox.storage.validation.corruption import PIECE_BYTES, Corruption, SegmentCheck

_log = logging.getLogger(__name__)


class Piece(NamedTuple):
    """The next piece to read; `background` is that of its log directory, for work that may wait for the disk."""

    bytes: FileSlice
    background: Background


class LogScrub:
    """Call `begin` for a pass, then `next_piece` and `check_piece` alternately until there is no piece."""

    def __init__(self, logs: Iterable[Log]) -> None:
        self._logs = logs
        self._remaining_logs: deque[Log] = deque()
        self._log_check: _LogCheck | None = None
        self.bytes_checked = 0
        self.corrupt_batches = 0
        self.passes = 0

    def begin(self) -> None:
        """Begin a new pass over the logs that exist now."""
        self._remaining_logs = deque(self._logs)
        self._log_check = None

    def next_piece(self) -> Piece | None:
        """The next piece; None if the pass is complete."""
        while True:
            if self._log_check is None:
                if not self._remaining_logs:
                    self.passes += 1
                    return None
                self._log_check = _LogCheck(self._remaining_logs.popleft())
            try:
                piece = self._log_check.next_piece()
            except OSError as error:
                self.skip_log(error)
                continue
            if piece is not None:
                return piece
            self._end_log_check()

    def check_piece(self, data: bytes) -> None:
        """Check the bytes of the last piece. Yields in a cooperative task."""
        log_check = self._log_check
        assert log_check is not None
        if log_check.check_piece(data):
            self._end_log_check()

    def skip_log(self, error: OSError) -> None:
        """Skip a log that cannot be read: its directory goes offline when other code needs the file."""
        assert self._log_check is not None
        _log.warning("Log of %s cannot be checked by the scrub: %s", self._log_check.log.topic_partition, error)
        self._end_log_check()

    def _end_log_check(self) -> None:
        log_check, self._log_check = self._log_check, None
        assert log_check is not None
        self.bytes_checked += log_check.bytes_checked
        if log_check.corruption is not None:
            known = log_check.log.corruption
            log_check.log.report_corruption(log_check.corruption)
            # Each pass finds a batch again until replication has rebuilt the log.
            self.corrupt_batches += log_check.log.corruption is not known


class _LogCheck:
    """The check of one log, from its first segment on."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.bytes_checked = 0
        self.corruption: Corruption | None = None
        self._truncations = log.body.truncations
        self._segments = self._all_segments()
        self._segment: Segment | None = None
        self._check: SegmentCheck | None = None
        self._needed = 0

    def _all_segments(self) -> Iterator[Segment]:
        segments, slot = self.log.body.segments, 0
        while slot < len(segments):
            segment = segments[slot]
            yield segment
            slot = segments.slot_of(segment.base_offset) + 1

    def next_piece(self) -> Piece | None:
        """The next piece; None if nothing is left to check."""
        while not self._has_changed() and self.corruption is None:
            segment, check = self._segment, self._check
            if segment is not None and check is not None and check.position < segment.written:
                size = min(max(PIECE_BYTES, self._needed), segment.written - check.position)
                return Piece(segment.slice(check.position, size), self.log.body.directory.background)
            following = next(self._segments, None)
            if following is None:
                return None
            self._start_segment(following)
        return None

    def _has_changed(self) -> bool:
        body, segment = self.log.body, self._segment
        removed = segment is not None and body.segments[body.segments.slot_of(segment.base_offset)] is not segment
        return removed or not self.log.online or body.truncations != self._truncations

    def _start_segment(self, segment: Segment) -> None:
        checked = self._check
        if checked is not None:
            self.corruption = checked.corruption_before_segment(segment.base_offset)
            if self.corruption is not None:
                return
        order = self.log.batch_order(segment.base_offset)
        self._segment = segment
        self._check = SegmentCheck(segment.base_offset, order, from_offset=self.log.log_start_offset)
        self._needed = 0

    def check_piece(self, data: bytes) -> bool:
        """Check a piece. True: the check of this log is complete."""
        segment, check = self._segment, self._check
        assert segment is not None
        assert check is not None
        before = check.bytes_checked
        suspicious = check.check(data, segment.written) is not None
        if suspicious and not self._has_changed():
            with no_yield():
                self.corruption = check.run(segment.read, check.position + 1, segment.written)
        elif check.bytes_checked == before:
            self._needed = check.bytes_needed(data, segment.written)
        else:
            self._needed = 0
        self.bytes_checked += check.bytes_checked - before
        return self.corruption is not None or self._has_changed()


def measure_scrub(metrics: Metrics, scrub: LogScrub) -> None:
    """Registers the metrics: bytes, corrupt batches and passes since the start."""
    for name, read in (
        ("BytesChecked", lambda: scrub.bytes_checked),
        ("CorruptBatches", lambda: scrub.corrupt_batches),
        ("Passes", lambda: scrub.passes),
    ):
        metrics.counter_from(MetricName("signalbox.storage", "LogScrub", name), read)
