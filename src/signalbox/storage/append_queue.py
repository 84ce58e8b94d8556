"""Batches that a log has accepted in this turn of the loop and not written yet.

Small batches are copied and go to the file together in one write per turn; a large one takes the waiting ones with
it at once. If the write fails, all batches of the group fail: offsets, index and producer state go back to what
they were before the first, and the log directory goes offline.

A large group is written in pieces, since memory that is new to the machine costs a millisecond or more per megabyte. In
long work (`common/long_work.py`) there is a breath between two pieces: nothing of the group counts before its last
byte is there, and whoever wants anything of the log meanwhile finishes the write first.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from signalbox.common.long_work import breathe
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.append_info import LogAppendInfo
from signalbox.storage.file_system import Buffer, write_whole
from signalbox.storage.log_body import LogBody
from signalbox.storage.producer_state import ProducerEntry
from signalbox.storage.segment import SegmentMark

_log = logging.getLogger(__name__)

OnWritten = Callable[[LogAppendInfo, KafkaError | None], None]

DIRECT_WRITE_SIZE_BYTES = 16_384  # from here on a copy costs more than a system call of its own
_PIECE_BYTES = 131_072  # of a large write, between two breaths


class AppendQueue:
    """`next_offset` counts accepted batches, `log_end_offset` written ones."""

    __slots__ = (
        "_advanced",
        "_answers",
        "_begun",
        "_body",
        "_buffers",
        "_directory",
        "_done",
        "_error",
        "_flush_messages",
        "_mark",
        "_producers_before",
        "_pwrite",
        "_waiting",
        "log_end_offset",
        "next_offset",
        "on_advanced",
    )

    def __init__(self, body: LogBody, next_offset: int) -> None:
        self.next_offset = self.log_end_offset = next_offset
        self.on_advanced: Callable[[], None] | None = None  # told after every group that reached the file
        self._body = body
        self._directory = body.directory
        self._pwrite = body.directory.disk.file_system.pwrite
        self._flush_messages = body.config.flush_messages
        self._buffers: list[Buffer] = []
        self._begun: memoryview | None = None  # the group's bytes while a part of them, `_done`, is in the file
        self._done = 0
        self._answers: list[tuple[OnWritten, LogAppendInfo]] = []
        self._producers_before: list[tuple[int, ProducerEntry | None]] = []
        self._mark: SegmentMark | None = None
        self._error: KafkaError | None = None
        self._waiting = False
        self._advanced = False

    def flush_appends(self) -> None:
        """Writes what is queued and tells those who wait; KafkaError when the write failed."""
        error = self.complete_group()
        if error is not None:
            raise error

    def complete_group(self) -> KafkaError | None:
        """`flush_appends` for a caller that serves many logs: gives the error instead of raising it."""
        self._waiting = False
        self._write_group()
        if self._error is None and self.log_end_offset - self._body.recovery_point >= self._flush_messages:
            self._sync()
        if self._directory.checkpoint_due:
            self._directory.checkpoint_due = False
            self._directory.correct_checkpoints()
        error, self._error = self._error, None
        advanced, self._advanced = self._advanced, False
        answers, self._answers = self._answers, []
        # The group is in the log (or is not) whatever those make of it who are told: one that fails must not keep the
        # news from the others, or their requests, and other logs of this turn, wait for ever.
        if advanced and error is None and self.on_advanced is not None:
            try:
                self.on_advanced()
            except Exception:
                _log.exception("%s: an append was written, but not acted upon", self._body.folder)
        for on_written, info in answers:
            try:
                on_written(info, error)
            except Exception:
                _log.exception("%s: the append at offset %d is not answered", self._body.folder, info.first_offset)
        return error

    def assign_epoch_start(self, leader_epoch: int, start_offset: int) -> None:
        """A leader's reign begins at `start_offset`."""
        with self._directory.guard(f"writing leader epochs of {self._body.folder}"):
            self._body.assign_epoch_start(leader_epoch, start_offset)

    def _await_write(self, info: LogAppendInfo, on_written: OnWritten | None) -> None:
        if on_written is not None:
            self._answers.append((on_written, info))
        if not self._waiting:
            self._waiting = True
            self._directory.awaiting_write.append(self)

    def _take(self, data: memoryview) -> None:
        if len(data):
            self._buffers.append(data)

    def _make_room(self, next_offset: int, size: int, limit: int = 2**31 - 1) -> None:
        """Rolls the active segment unless it is empty; a leader refuses a batch above the segments' `limit`."""
        if size > limit:
            raise KafkaError(Error.RECORD_LIST_TOO_LARGE, f"a batch of {size} bytes: a segment has {limit}")
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
        if self._begun is not None:
            self._write_on(len(self._begun))
            return
        active = self._body.segments.active
        try:
            self._directory.refuse_offline()
            fd = active.file().fd
            data = buffers[0] if len(buffers) == 1 else b"".join(buffers)
            done = self._pwrite(fd, data, active.written)
            if done != len(data):
                write_whole(self._directory.disk.file_system, fd, memoryview(data)[done:], active.written + done)
        except OSError as error:
            self._undo_group(self._directory.fail(error, f"appending to {self._body.folder}"))
            return
        except KafkaError as error:
            self._undo_group(error)
            return
        self._take_in()

    def _write_in_pieces(self) -> None:
        """`_write_group` for a large one, with breaths. Its buffers must stay as they are until it is over."""
        buffers = self._buffers
        if not buffers:
            return
        self._begun = begun = memoryview(buffers[0] if len(buffers) == 1 else b"".join(buffers))
        self._done = 0
        while self._begun is begun:  # else somebody else has finished it meanwhile
            self._write_on(_PIECE_BYTES)
            breathe()

    def _write_on(self, size: int) -> None:
        """`size` bytes more of the group that was begun, or what is left of it."""
        begun, active = self._begun, self._body.segments.active
        assert begun is not None
        piece = begun[self._done : self._done + size]
        try:
            self._directory.refuse_offline()
            write_whole(self._directory.disk.file_system, active.file().fd, piece, active.written + self._done)
        except OSError as error:
            self._undo_group(self._directory.fail(error, f"appending to {self._body.folder}"))
            return
        except KafkaError as error:
            self._undo_group(error)
            return
        self._done += len(piece)
        if self._done == len(begun):
            self._take_in()

    def _take_in(self) -> None:
        """The group is in the file."""
        active = self._body.segments.active
        active.written = active.size
        self.log_end_offset = self.next_offset
        self._advanced = True
        self._mark = self._begun = None
        self._buffers.clear()
        self._producers_before.clear()

    def _sync(self) -> None:
        """fsync because `flush.messages` says so, before anybody is told."""
        try:
            self._body.sync(self.log_end_offset)
        except OSError as error:
            self._error = self._directory.fail(error, f"syncing {self._body.folder}")

    def _undo_group(self, error: KafkaError) -> None:
        """Forgets the group that could not be written because of `error`."""
        self._error = error
        self._begun = None
        body = self._body
        active = body.segments.active
        if self._mark is not None:
            active.roll_back(self._mark, self.log_end_offset)
        self._mark = None
        for producer_id, entry in reversed(self._producers_before):
            body.producers.put_back(producer_id, entry)
        body.epochs.truncate_from_end(self.log_end_offset)
        self.next_offset = self.log_end_offset
        self._buffers.clear()
        self._producers_before.clear()
        # A torn write may have left bytes behind the end; if they cannot be cut off now, the next start does it.
        with contextlib.suppress(OSError):
            self._directory.disk.file_system.truncate(active.file().fd, active.written)
