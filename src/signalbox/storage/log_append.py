"""What may be added to a log, and how: a leader's one batch from a producer, a follower's many from its leader.

A leader's batch is admitted, numbered and stamped; idempotence (KIP-98) is checked against the log's producers. The
ordinary one is read with a single look at its header, since this is the hottest path of the broker; everything
else goes through `batch_admission`. A test holds the two equal.
"""

from __future__ import annotations

from struct import Struct

from crc32c import crc32c

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    check_crc,
    iter_batch_headers,
    read_batch_header,
    unpack_header,
)
from signalbox.protocol.records.record_lengths import (
    COUNTED_COMPRESSED_BYTES,
    COUNTED_RECORDS,
    SMALLEST_RECORD_BYTES,
    lengths_agree,
)
from signalbox.storage.append_info import LogAppendInfo
from signalbox.storage.append_queue import DIRECT_WRITE_SIZE_BYTES, AppendQueue, OnWritten
from signalbox.storage.batch_admission import admit_batch, batch_rules, needs_care
from signalbox.storage.file_system import Buffer
from signalbox.storage.log_body import LogBody
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producer_replay import note_batch
from signalbox.storage.producer_state import MAX_SEQUENCE

_ZSTD = 4  # the last compression code; larger attributes are flags, which take the careful way
_PACKED_AND_COUNTED = COUNTED_COMPRESSED_BYTES - LOG_OVERHEAD
_RECORDS_FROM = HEADER_SIZE - LOG_OVERHEAD  # as batch length counts
_ASSIGNED = Struct(">qii")  # base offset, batch length, partition leader epoch


class LogAppends(AppendQueue):
    """The two ways in."""

    __slots__ = ("_rules", "_special")

    def __init__(self, body: LogBody, next_offset: int) -> None:
        super().__init__(body, next_offset)
        self._obey(body.config)

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

        `on_written` is told the outcome by `flush_appends`. A large mutable `batch` is patched in place; the buffer may
        be used again after the call. `from_client` True breathes while much is written, False admits transaction
        markers.
        """
        if self._begun is not None:
            self._write_group()
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
                    info.repeats(repeated[2] - repeated[3], repeated[2], repeated[4])
                    self._await_write(info, on_written)
                    return info
        if body.is_full_for(size, last_offset, max_timestamp):
            self._make_room(first_offset, size, self._body.config.segment_bytes)
        if leader_epoch > body.epochs.latest:
            self.assign_epoch_start(leader_epoch, first_offset)
        if size < DIRECT_WRITE_SIZE_BYTES or isinstance(batch, bytes) or memoryview(batch).readonly:
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
        if size >= DIRECT_WRITE_SIZE_BYTES:
            if from_client:
                self._write_in_pieces()
            else:  # a coordinator keeps what it appends in the order of its calls
                self._write_group()
        return info

    def append_as_follower(self, batches: Buffer, on_written: OnWritten | None = None) -> LogAppendInfo:
        """Takes batches as the leader stored them, offsets and epochs included; a cut-off last one is left out.

        KafkaError CORRUPT_MESSAGE when one is damaged or does not lie behind the log's end; nothing is taken then.
        Breathes while much is written.
        """
        self._write_group()
        self._directory.refuse_offline()
        headers = self._checked_headers(batches)
        size = headers[-1].position + headers[-1].size_bytes if headers else 0
        first_offset = headers[0].base_offset if headers else self.next_offset
        last_offset = headers[-1].last_offset if headers else first_offset - 1
        info = LogAppendInfo(first_offset, last_offset, size, self._body.log_start_offset)
        view = memoryview(batches)[:size]
        if size < DIRECT_WRITE_SIZE_BYTES:
            view = memoryview(bytes(view))
        try:
            self._take_stored(headers, view)
        except KafkaError as error:  # the disk failed between two batches
            self._undo_group(error)
            raise
        self._await_write(info, on_written)
        if size >= DIRECT_WRITE_SIZE_BYTES:
            self._write_in_pieces()
        return info

    def _checked_headers(self, batches: Buffer) -> list[BatchHeader]:
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
        return headers

    def _take_stored(self, headers: list[BatchHeader], view: memoryview) -> None:
        """Queues `view`, split where the leader's segments were split, too."""
        body = self._body
        queued = 0  # bytes of `view` that are in the group's buffers
        for header in headers:
            if body.is_full_for(header.size_bytes, header.last_offset, header.max_timestamp):
                self._take(view[queued : header.position])
                queued = header.position
                self._make_room(header.base_offset, header.size_bytes)
            if header.partition_leader_epoch > body.epochs.latest:
                self.assign_epoch_start(header.partition_leader_epoch, header.base_offset)
            if self._mark is None:
                self._mark = body.segments.active.mark()
            if header.producer_id >= 0:
                self._producers_before.append((header.producer_id, body.producers.entries.get(header.producer_id)))
                note_batch(body.producers, header, view)
            body.segments.active.accept(header.base_offset, header.last_offset, header.size_bytes, header.max_timestamp)
            self.next_offset = header.next_offset
        self._take(view[queued:])

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
            and (
                (length > _PACKED_AND_COUNTED and count * SMALLEST_RECORD_BYTES <= rules.max_unpacked_bytes)
                if attributes
                else lengths_agree(batch, count)
                if count <= COUNTED_RECORDS
                else count * SMALLEST_RECORD_BYTES <= length - _RECORDS_FROM
            )
        )
