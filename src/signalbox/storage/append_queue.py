"""Batches that a log has accepted in this loop iteration but not written yet.

Small batches are copied and written to the file together, one write per iteration. A large batch is written at once,
together with the queued ones. If the write fails, all batches of the group fail: offsets, index and producer state
return to their values before the group, and the log directory goes offline.

A large group is written in pieces, since memory that is new to the machine costs a millisecond or more per megabyte. In
a cooperative task (`common/cooperative_task.py`) the write yields between two pieces: no batch of the group counts
before its last byte is written, and other code that needs the log meanwhile completes the write first.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.files.file_system import Buffer, write_fully
from signalbox.storage.log_body import LogBody
from signalbox.storage.producers.producer_state import ProducerEntry
from signalbox.storage.segments.segment import SegmentMark

_log = logging.getLogger(__name__)

DIRECT_WRITE_SIZE_BYTES = 16_384  # from this size on a copy costs more than a system call of its own
_PIECE_BYTES = 131_072  # of a large write, between two yields


class LogAppendInfo:
    """The offsets of appended batches. Offsets are assigned at once; the bytes are in the file after `flush_appends`.

    `duplicate`: the batch was appended before; the offsets are those of the first append (KIP-98). `log_append_time_ms`
    is -1 if the topic uses the producers' timestamps.
    """

    __slots__ = (
        "duplicate",
        "first_offset",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "size_bytes",
    )

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        size_bytes: int,
        log_start_offset: int,
        log_append_time_ms: int = -1,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.size_bytes = size_bytes
        self.log_start_offset = log_start_offset
        self.log_append_time_ms = log_append_time_ms
        self.duplicate = False

    def mark_duplicate(self, first_offset: int, last_offset: int, timestamp: int) -> None:
        """The batch is already in the log, at these offsets. `timestamp` is its append time if the broker's clock
        counts."""
        self.first_offset, self.last_offset, self.duplicate = first_offset, last_offset, True
        if self.log_append_time_ms >= 0:
            self.log_append_time_ms = timestamp

    def __repr__(self) -> str:
        duplicate_text = ", duplicate" if self.duplicate else ""
        return f"LogAppendInfo({self.first_offset}..{self.last_offset}, {self.size_bytes} bytes{duplicate_text})"


OnWritten = Callable[[LogAppendInfo, KafkaError | None], None]


class AppendQueue:
    """`next_offset` counts accepted batches, `log_end_offset` written ones."""

    __slots__ = (
        "_advanced",
        "_body",
        "_buffers",
        "_bytes_written",
        "_callbacks",
        "_directory",
        "_error",
        "_flush_messages",
        "_mark",
        "_partial_group",
        "_producers_before",
        "_pwrite",
        "_write_scheduled",
        "log_end_offset",
        "next_offset",
        "on_advanced",
    )

    def __init__(self, body: LogBody, next_offset: int) -> None:
        self.next_offset = self.log_end_offset = next_offset
        self.on_advanced: Callable[[], None] | None = None  # called after every group that was written to the file
        self._body = body
        self._directory = body.directory
        self._pwrite = body.directory.disk.file_system.pwrite
        self._flush_messages = body.config.flush_messages
        self._buffers: list[Buffer] = []
        self._partial_group: memoryview | None = None  # the bytes of a group while only a part is in the file
        self._bytes_written = 0
        self._callbacks: list[tuple[OnWritten, LogAppendInfo]] = []
        self._producers_before: list[tuple[int, ProducerEntry | None]] = []
        self._mark: SegmentMark | None = None
        self._error: KafkaError | None = None
        self._write_scheduled = False
        self._advanced = False

    def flush_appends(self) -> None:
        """Writes the queued batches and calls their callbacks; KafkaError if the write failed."""
        error = self.complete_group()
        if error is not None:
            raise error

    def complete_group(self) -> KafkaError | None:
        """`flush_appends` for a caller that handles many logs: returns the error instead of raising it."""
        self._write_scheduled = False
        self._write_group()
        if self._error is None and self.log_end_offset - self._body.recovery_point >= self._flush_messages:
            self._sync()
        if self._directory.checkpoint_due:
            self._directory.checkpoint_due = False
            self._directory.correct_checkpoints()
        error, self._error = self._error, None
        advanced, self._advanced = self._advanced, False
        callbacks, self._callbacks = self._callbacks, []
        # The result of the group is final before the callbacks run. An error in one callback must not stop the other
        # callbacks: their requests, and other logs of this iteration, would wait forever.
        if advanced and error is None and self.on_advanced is not None:
            try:
                self.on_advanced()
            except Exception:
                _log.exception("Unexpected error after an append (folder=%s)", self._body.folder)
        for on_written, info in callbacks:
            try:
                on_written(info, error)
            except Exception:
                _log.exception(
                    "Unexpected error completing an append (folder=%s, offset=%d)", self._body.folder, info.first_offset
                )
        return error

    @property
    def writes_in_pieces(self) -> bool:
        """Whether a large group is in the file in part, and the task that appended it has yielded."""
        return self._partial_group is not None

    def assign_epoch_start(self, leader_epoch: int, start_offset: int) -> None:
        """A leader epoch begins at `start_offset`."""
        with self._directory.guard(f"writing leader epochs of {self._body.folder}"):
            self._body.assign_epoch_start(leader_epoch, start_offset)

    def _schedule_write(self, info: LogAppendInfo, on_written: OnWritten | None) -> None:
        if on_written is not None:
            self._callbacks.append((on_written, info))
        if not self._write_scheduled:
            self._write_scheduled = True
            self._directory.awaiting_write.append(self)

    def _add_buffer(self, data: memoryview) -> None:
        if len(data):
            self._buffers.append(data)

    def _roll_segment(self, next_offset: int, size: int, limit: int = 2**31 - 1) -> None:
        """Rolls the active segment unless it is empty; a batch above `limit` is rejected (on a leader
        `segment.bytes`)."""
        if size > limit:
            raise KafkaError(
                Error.RECORD_LIST_TOO_LARGE, f"the batch size of {size} bytes exceeds the segment size of {limit} bytes"
            )
        if self._body.segments.active.size == 0:
            return
        self._write_group()
        if self._error is not None:
            raise self._error
        with self._directory.guard(f"rolling {self._body.folder}"):
            self._body.roll(next_offset)

    def _write_group(self) -> None:
        buffers = self._buffers
        if not buffers:
            return
        if self._partial_group is not None:
            self._write_piece(len(self._partial_group))
            return
        active = self._body.segments.active
        try:
            self._directory.reject_offline()
            fd = active.file().fd
            data = buffers[0] if len(buffers) == 1 else b"".join(buffers)
            done = self._pwrite(fd, data, active.written)
            if done != len(data):
                write_fully(self._directory.disk.file_system, fd, memoryview(data)[done:], active.written + done)
        except OSError as error:
            self._undo_group(self._directory.fail(error, f"appending to {self._body.folder}"))
            return
        except KafkaError as error:
            self._undo_group(error)
            return
        self._commit_group()

    def _write_in_pieces(self) -> None:
        """`_write_group` for a large group. Yields: the buffers must not change until it is complete."""
        buffers = self._buffers
        if not buffers:
            return
        self._partial_group = group = memoryview(buffers[0] if len(buffers) == 1 else b"".join(buffers))
        self._bytes_written = 0
        while self._partial_group is group:  # otherwise other code has completed it meanwhile
            self._write_piece(_PIECE_BYTES)
            yield_if_due()

    def _write_piece(self, size: int) -> None:
        """Writes the next `size` bytes of the group that was begun, or the rest of it."""
        group, active = self._partial_group, self._body.segments.active
        assert group is not None
        piece = group[self._bytes_written : self._bytes_written + size]
        try:
            self._directory.reject_offline()
            write_fully(self._directory.disk.file_system, active.file().fd, piece, active.written + self._bytes_written)
        except OSError as error:
            self._undo_group(self._directory.fail(error, f"appending to {self._body.folder}"))
            return
        except KafkaError as error:
            self._undo_group(error)
            return
        self._bytes_written += len(piece)
        if self._bytes_written == len(group):
            self._commit_group()

    def _commit_group(self) -> None:
        """The group is in the file."""
        active = self._body.segments.active
        active.written = active.size
        self.log_end_offset = self.next_offset
        self._advanced = True
        self._mark = self._partial_group = None
        self._buffers.clear()
        self._producers_before.clear()

    def _sync(self) -> None:
        """fsync because of `flush.messages`, before the callbacks are called."""
        try:
            self._body.sync(self.log_end_offset)
        except OSError as error:
            self._error = self._directory.fail(error, f"syncing {self._body.folder}")

    def _undo_group(self, error: KafkaError) -> None:
        """Removes the group that could not be written because of `error`."""
        self._error = error
        self._partial_group = None
        body = self._body
        active = body.segments.active
        if self._mark is not None:
            active.roll_back(self._mark, self.log_end_offset)
        self._mark = None
        for producer_id, entry in reversed(self._producers_before):
            body.producers.restore(producer_id, entry)
        if self._producers_before:
            body.producers.restore_transactions(self.log_end_offset)
        body.epochs.truncate_from_end(self.log_end_offset)
        self.next_offset = self.log_end_offset
        self._buffers.clear()
        self._producers_before.clear()
        # A failed write may have left bytes behind the end; if they cannot be truncated now, the next start does it.
        with contextlib.suppress(OSError):
            self._directory.disk.file_system.truncate(active.file().fd, active.written)
