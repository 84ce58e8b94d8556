"""The writing half of a log: batches are accepted, queued, and written in groups.

Small batches are copied and go to the file together in one write per turn of the loop; a large one takes the
waiting ones with it at once. If the write fails, all batches of the group fail: offsets, index and producer state
go back to what they were before the first, and the log directory goes offline.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from struct import Struct

from crc32c import crc32c

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    check_crc,
    iter_batch_headers,
    read_batch_header,
    unpack_header,
)
from signalbox.storage.append_info import LogAppendInfo
from signalbox.storage.batch_admission import admit_batch, batch_rules, needs_care
from signalbox.storage.file_system import Buffer, write_whole
from signalbox.storage.log_body import LogBody
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producer_replay import note_batch
from signalbox.storage.producer_state import MAX_SEQUENCE, ProducerEntry
from signalbox.storage.segment import SegmentMark

OnWritten = Callable[[LogAppendInfo, KafkaError | None], None]

_DIRECT_WRITE_SIZE_BYTES = 16_384  # from here on a copy costs more than a system call of its own
_ZSTD = 4  # the last compression code; larger attributes are flags, which take the slow path
_ASSIGNED = Struct(">qii")  # base offset, batch length, partition leader epoch


class AppendQueue:
    """`next_offset` counts accepted batches, `log_end_offset` written ones."""

    __slots__ = (
        "_advanced",
        "_answers",
        "_body",
        "_buffers",
        "_directory",
        "_error",
        "_flush_messages",
        "_mark",
        "_producers_before",
        "_pwrite",
        "_rules",
        "_special",
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
        self._obey(body.config)
        self._buffers: list[Buffer] = []
        self._answers: list[tuple[OnWritten, LogAppendInfo]] = []
        self._producers_before: list[tuple[int, ProducerEntry | None]] = []
        self._mark: SegmentMark | None = None
        self._error: KafkaError | None = None
        self._waiting = False
        self._advanced = False

    def _obey(self, config: LogConfig) -> None:
        self._rules = batch_rules(config)
        self._special = needs_care(config)
        self._flush_messages = config.flush_messages

    def append_as_leader(
        self,
        batch: Buffer,
        leader_epoch: int,
        now_ms: int,
        on_written: OnWritten | None = None,
        from_client: bool = True,
    ) -> LogAppendInfo:
        """Validates one batch, gives it the next offsets and queues it; KafkaError when it is refused.

        `on_written` is told the outcome by `flush_appends`. A large mutable `batch` is patched in place; the
        buffer may be used again after the call. `from_client` False admits transaction markers.
        """
        if self._directory.offline_reason is not None:
            self._directory.refuse_offline()
        header = unpack_header(batch, 0) if len(batch) >= HEADER_SIZE else None
        appended_at = -1
        if header is None or self._special or not self._passes(batch, header, now_ms):
            batch, header, appended_at = admit_batch(batch, self._body.config, self._rules, now_ms, from_client)
        _, length, _, _, _, attributes, delta, _, max_timestamp, producer_id, producer_epoch, sequence, _ = header[:13]
        size = len(batch)
        body = self._body
        first_offset = self.next_offset
        last_offset = first_offset + delta
        info = LogAppendInfo(first_offset, last_offset, size, body.log_start_offset, appended_at)
        if producer_id >= 0 and not attributes & CONTROL_BIT:
            entry = body.producers.entries.get(producer_id)
            if entry is None or entry.next_sequence != sequence or entry.producer_epoch != producer_epoch:
                last_sequence = (sequence + delta) & MAX_SEQUENCE
                repeated = body.producers.check(producer_id, producer_epoch, sequence, last_sequence)
                if repeated is not None:
                    info.repeats(repeated[2] - repeated[3], repeated[2])
                    self._await_write(info, on_written)
                    return info
        if body.is_full_for(size, last_offset, max_timestamp):
            self._make_room(first_offset, size, self._body.config.segment_bytes)
        if leader_epoch > body.epochs.latest:
            body.assign_epoch_start(leader_epoch, first_offset)
        if size < _DIRECT_WRITE_SIZE_BYTES or isinstance(batch, bytes) or memoryview(batch).readonly:
            batch = bytearray(batch)
        _ASSIGNED.pack_into(batch, 0, first_offset, length, leader_epoch)
        if self._mark is None:
            self._mark = body.segments.active.mark()
        if producer_id >= 0:
            self._producers_before.append((producer_id, body.producers.entries.get(producer_id)))
            if attributes & ~COMPRESSION_MASK:
                note_batch(body.producers, read_batch_header(batch), batch)
            else:
                numbers = (sequence, (sequence + delta) & MAX_SEQUENCE, last_offset, delta, max_timestamp)
                body.producers.append(producer_id, producer_epoch, numbers)
        body.segments.active.accept(first_offset, last_offset, size, max_timestamp)
        self._buffers.append(batch)
        self.next_offset = last_offset + 1
        self._await_write(info, on_written)
        if size >= _DIRECT_WRITE_SIZE_BYTES:
            self._write_group()
        return info

    def append_as_follower(self, batches: Buffer, on_written: OnWritten | None = None) -> LogAppendInfo:
        """Takes batches as the leader stored them, offsets and epochs included; a cut-off last one is left out.

        KafkaError CORRUPT_MESSAGE when one is damaged or does not lie behind the log's end; nothing is taken then.
        """
        self._directory.refuse_offline()
        body = self._body
        headers = list(iter_batch_headers(batches, allow_partial_tail=True))
        if headers and headers[0].base_offset < self.next_offset <= headers[0].last_offset and self._is_empty():
            self._begin_within(headers[0].base_offset)
        expected = self.next_offset
        for header in headers:
            if header.base_offset < expected:
                raise KafkaError(
                    Error.CORRUPT_MESSAGE, f"a batch at offset {header.base_offset}, the log ends at {expected}"
                )
            if header.last_offset_delta < 0 or not check_crc(batches, header):
                raise KafkaError(Error.CORRUPT_MESSAGE, f"the batch at offset {header.base_offset} is damaged")
            expected = header.next_offset
        size = headers[-1].position + headers[-1].size_bytes if headers else 0
        first_offset = headers[0].base_offset if headers else expected
        info = LogAppendInfo(first_offset, expected - 1, size, body.log_start_offset)
        view = memoryview(batches)[:size]
        if size < _DIRECT_WRITE_SIZE_BYTES:
            view = memoryview(bytes(view))
        queued = 0  # bytes of `view` that are in the group's buffers
        for header in headers:
            if body.is_full_for(header.size_bytes, header.last_offset, header.max_timestamp):
                self._take(view[queued : header.position])
                queued = header.position
                self._make_room(header.base_offset, header.size_bytes)
            if header.partition_leader_epoch > body.epochs.latest:
                body.assign_epoch_start(header.partition_leader_epoch, header.base_offset)
            if self._mark is None:
                self._mark = body.segments.active.mark()
            if header.producer_id >= 0:
                self._producers_before.append((header.producer_id, body.producers.entries.get(header.producer_id)))
                note_batch(body.producers, header, view)
            body.segments.active.accept(header.base_offset, header.last_offset, header.size_bytes, header.max_timestamp)
            self.next_offset = header.next_offset
        self._take(view[queued:])
        self._await_write(info, on_written)
        if size >= _DIRECT_WRITE_SIZE_BYTES:
            self._write_group()
        return info

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
        error, self._error = self._error, None
        advanced, self._advanced = self._advanced, False
        if advanced and error is None and self.on_advanced is not None:
            self.on_advanced()
        answers, self._answers = self._answers, []
        for on_written, info in answers:
            on_written(info, error)
        return error

    def _is_empty(self) -> bool:
        return self._body.segments.active.size == 0 and len(self._body.segments) == 1

    def _begin_within(self, base_offset: int) -> None:
        """The leader's log start lies inside its first batch: an empty log begins with the whole batch."""
        start = self._body.log_start_offset
        with self._directory.guard(f"restarting {self._body.folder}"):
            self._body.restart_at(base_offset)
        self._body.log_start_offset = start
        self.next_offset = self.log_end_offset = base_offset

    def _passes(self, batch: Buffer, header: tuple[int, ...], now_ms: int) -> bool:
        """The one-glance check: a whole, ordinary batch of a client, with nothing to complain about."""
        _, length, _, magic, crc, attributes, delta, base_timestamp, max_timestamp, pid, epoch, sequence, count = header
        rules = self._rules
        return (
            length + LOG_OVERHEAD == len(batch) <= rules.max_message_bytes
            and magic == MAGIC
            and 0 <= attributes <= _ZSTD
            and 0 <= delta == count - 1
            and max_timestamp - now_ms <= rules.timestamp_after_max_ms
            and now_ms - base_timestamp <= rules.timestamp_before_max_ms
            and (pid < 0 or (epoch >= 0 and sequence >= 0))
            and crc32c(memoryview(batch)[21:]) == crc
        )

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
        active = self._body.segments.active
        try:
            fd = active.file().fd
            data = buffers[0] if len(buffers) == 1 else b"".join(buffers)
            done = self._pwrite(fd, data, active.written)
            if done != len(data):
                write_whole(self._directory.disk.file_system, fd, memoryview(data)[done:], active.written + done)
        except OSError as error:
            self._undo_group(error)
            return
        active.written = active.size
        self.log_end_offset = self.next_offset
        self._advanced = True
        self._mark = None
        buffers.clear()
        self._producers_before.clear()

    def _sync(self) -> None:
        """fsync because `flush.messages` says so, before anybody is told."""
        try:
            self._body.sync(self.log_end_offset)
        except OSError as error:
            self._error = self._directory.fail(error, f"syncing {self._body.folder}")

    def _undo_group(self, error: OSError) -> None:
        """Forgets the group that could not be written."""
        self._error = self._directory.fail(error, f"appending to {self._body.folder}")
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
