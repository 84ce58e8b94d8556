"""Appends to a log: on a leader one batch from a producer, on a follower many batches from its leader.

A leader admits the batch, assigns its offsets and writes its leader epoch; idempotence (KIP-98) is checked against the
log's producers. An ordinary batch gets the fast validation, which reads its header once, since this is the hottest path
of the broker. All other batches get the full validation in `batch_admission`. A test checks that the results are equal.
"""

from __future__ import annotations

from struct import Struct

from crc32c import crc32c

from signalbox.common.cooperative_task import no_yield
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    check_crc,
    iter_batch_headers,
    read_batch_header,
    unpack_header,
)
from signalbox.protocol.records.record_walk import walk_records
from signalbox.protocol.records.transaction_marker import read_marker
from signalbox.storage.append_queue import DIRECT_WRITE_SIZE_BYTES, AppendQueue, LogAppendInfo, OnWritten
from signalbox.storage.files.file_system import Buffer
from signalbox.storage.log_body import LogBody
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producers.producer_replay import note_batch
from signalbox.storage.producers.producer_state import MAX_SEQUENCE, SequenceRange
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, SWITCHED_OFF, VerificationGuard
from signalbox.storage.validation.batch_admission import (
    AdmissionSteps,
    Admitted,
    admit_batch,
    batch_rules,
    begin_admission,
    finish_admission,
    needs_full_validation,
)
from signalbox.storage.validation.batch_order import GAPS_ANYWHERE, BatchBehindGap

MAX_LEADER_EPOCH = 2**31 - 1
_ASSIGNED = Struct(">qii")  # base offset, batch length, partition leader epoch


class LogAppends(AppendQueue):
    """Appends as a leader and as a follower."""

    __slots__ = ("_needs_full_validation", "_rules")

    def __init__(self, body: LogBody, next_offset: int) -> None:
        super().__init__(body, next_offset)
        self._apply_config(body.config)

    def _apply_config(self, config: LogConfig) -> None:
        self._rules = batch_rules(config)
        self._needs_full_validation = needs_full_validation(config)
        self._flush_messages = config.flush_messages

    def append_as_leader(
        self,
        batch: Buffer,
        leader_epoch: int,
        now_ms: int,
        on_written: OnWritten | None = None,
        from_client: bool = True,
    ) -> LogAppendInfo:
        """Admits and appends in one call."""
        admitted = self.admit_at_once(batch, now_ms, from_client)
        return self.append_admitted(admitted, leader_epoch, on_written, from_client)

    def admit(self, batch: Buffer, now_ms: int) -> Admitted | AdmissionSteps:
        """Validates one batch of a client; KafkaError if it is rejected. Changes nothing. `AdmissionSteps`: the
        batch must be decompressed first. Yields: the caller must check again that it leads before it appends."""
        header = unpack_header(batch, 0) if len(batch) >= HEADER_SIZE else None
        if header is None or self._needs_full_validation or not self._passes_fast_validation(batch, header, now_ms):
            return begin_admission(batch, self._body.config, self._rules, now_ms)
        return batch, header, -1

    def admit_at_once(self, batch: Buffer, now_ms: int, from_client: bool = True) -> Admitted:
        """The same in one call, without a yield. `from_client` False admits transaction markers."""
        with no_yield():
            if from_client:
                return finish_admission(self.admit(batch, now_ms))
            return admit_batch(batch, self._body.config, self._rules, now_ms, from_client)

    def append_admitted(
        self,
        admitted: Admitted,
        leader_epoch: int,
        on_written: OnWritten | None = None,
        from_client: bool = True,
        guard: VerificationGuard | None = None,
    ) -> LogAppendInfo:
        """Assigns the next offsets to an admitted batch and queues it; KafkaError if its producer may not append it.

        `guard`: from `start_verification`; every transactional batch of data needs one.

        `flush_appends` calls `on_written` with the result. A large mutable batch is patched in place; the caller may
        reuse the buffer after the call. With `from_client` True the write of a large batch yields.
        """
        if self._partial_group is not None:
            self._write_group()
        if self._directory.offline_reason is not None:
            self._directory.reject_offline()
        batch, header, appended_at = admitted
        _, length, _, _, _, attributes, delta, _, max_timestamp, producer_id, producer_epoch, sequence, _ = header[:13]
        size = len(batch)
        body = self._body
        first_offset = self.next_offset
        last_offset = first_offset + delta
        info = LogAppendInfo(first_offset, last_offset, size, body.log_start_offset, appended_at)
        if producer_id >= 0 and not attributes & CONTROL_BIT:
            entry = body.producers.entries.get(producer_id)
            if (
                entry is None
                or entry.next_sequence != sequence
                or entry.producer_epoch != producer_epoch
                or entry.transaction_first_offset >= 0
                or attributes & TRANSACTIONAL_BIT
            ):
                duplicate = self._check_producer(header, from_client=from_client, guard=guard)
                if duplicate is not None:
                    info.mark_duplicate(duplicate[2] - duplicate[3], duplicate[2], duplicate[4])
                    self._schedule_write(info, on_written)
                    return info
        if body.is_full_for(size, last_offset, max_timestamp):
            self._roll_segment(first_offset, size, self._body.config.segment_bytes)
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
                self._note_batch(read_batch_header(batch), batch)
            else:
                sequence_range = (sequence, (sequence + delta) & MAX_SEQUENCE, last_offset, delta, max_timestamp)
                body.producers.append(producer_id, producer_epoch, sequence_range)
        body.segments.active.accept(first_offset, last_offset, size, max_timestamp)
        self._buffers.append(batch)
        self.next_offset = last_offset + 1
        self._schedule_write(info, on_written)
        if size >= DIRECT_WRITE_SIZE_BYTES:
            if from_client:
                self._write_in_pieces()
            else:  # a coordinator's appends stay in the order of its calls
                self._write_group()
        return info

    def append_marker(
        self,
        batch: bytes,
        leader_epoch: int,
        now_ms: int,
        transaction_version: int,
        on_written: OnWritten | None = None,
    ) -> LogAppendInfo:
        """Appends the control batch of a transaction marker; KafkaError if its producer epoch or coordinator epoch is
        too old."""
        admitted = self.admit_at_once(batch, now_ms, from_client=False)
        header, marker = read_batch_header(batch), read_marker(batch)
        if marker is None:
            raise KafkaError(Error.INVALID_RECORD, "not a transaction marker")
        self._body.producers.check_marker(
            header.producer_id, header.producer_epoch, marker.coordinator_epoch, transaction_version
        )
        return self.append_admitted(admitted, leader_epoch, on_written, from_client=False)

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, now_ms: int, *, raises_epochs: bool
    ) -> VerificationGuard:
        """The guard with which a batch must be appended once the transaction coordinator has confirmed its transaction;
        ALREADY_ONGOING, without a verification, if the transaction is open. `raises_epochs`: transaction version 2."""
        if self._body.producers.has_ongoing_transaction(producer_id, producer_epoch):
            return ALREADY_ONGOING
        verifications = self._body.verifications
        return verifications.start(producer_id, producer_epoch, sequence, now_ms, raises_epochs=raises_epochs)

    def abandon_verification(self, producer_id: int, guard: VerificationGuard) -> None:
        """A batch that would have been appended with `guard` was rejected for good."""
        self._body.verifications.abandon(producer_id, guard)

    def _check_producer(
        self, header: tuple[int, ...], *, from_client: bool, guard: VerificationGuard | None
    ) -> SequenceRange | None:
        """Admits a batch of data by its producer, or returns the earlier batch that it repeats. KafkaError."""
        body = self._body
        attributes, delta, producer_id, producer_epoch, sequence = header[5], header[6], *header[9:12]
        is_transactional = bool(attributes & TRANSACTIONAL_BIT)
        if from_client:
            last_sequence = (sequence + delta) & MAX_SEQUENCE
            duplicate = body.producers.duplicate_of(producer_id, producer_epoch, sequence, last_sequence)
            if duplicate is not None:
                if is_transactional:
                    body.producers.reject_of_ended_transaction(producer_id, duplicate)
                return duplicate
        if is_transactional and guard is None:
            raise KafkaError(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transaction without transactional id")
        is_first = is_transactional and not body.producers.has_ongoing_transaction(producer_id, producer_epoch)
        body.producers.check_epoch(producer_id, producer_epoch)  # first: its error does not end the producer
        if is_first and guard is not SWITCHED_OFF and not body.verifications.confirms(producer_id, guard):
            raise KafkaError(Error.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
        body.producers.check(
            producer_id, producer_epoch, sequence, is_transactional=is_transactional, checks_sequence=from_client
        )
        if is_first and from_client:
            self._check_first_sequence(producer_id, producer_epoch, sequence)
        return None

    def _check_first_sequence(self, producer_id: int, producer_epoch: int, sequence: int) -> None:
        """A batch that opens a transaction must be the earliest of those that wait for its verification; with
        transaction version 2 it must be the producer's first one if there is no state of it."""
        verification = self._body.verifications.get(producer_id)
        if verification is None:
            return
        expected = verification.lowest_sequence
        entry = self._body.producers.entries.get(producer_id)
        if verification.raises_epochs and (entry is None or not entry.batches):
            expected = 0
        if sequence > expected:
            raise KafkaError(
                Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer_id}, epoch {producer_epoch}: sequence {sequence} instead of {expected}",
            )

    def _note_batch(self, header: BatchHeader, buffer: Buffer) -> None:
        """Records a batch that has a producer id."""
        body = self._body
        aborted = note_batch(body.producers, header, buffer)
        if aborted is not None:
            body.add_aborted(aborted)
        if header.is_transactional:
            body.verifications.end(header.producer_id)

    def append_as_follower(
        self, batches: Buffer, on_written: OnWritten | None = None, leader_epoch: int = MAX_LEADER_EPOCH
    ) -> LogAppendInfo:
        """Appends batches as the leader stored them, with their offsets and epochs; an incomplete last batch is left
        out.

        KafkaError CORRUPT_MESSAGE if a batch is corrupt, does not continue the one before it, or has a later epoch than
        the sender's `leader_epoch`; then nothing is appended. A last batch behind a gap is left out too. The write of a
        large group yields.
        """
        self._write_group()
        self._directory.reject_offline()
        headers = self._validated_headers(batches, leader_epoch)
        if self._body.config.compacts:
            self._store_last_gap(headers)
        size = headers[-1].position + headers[-1].size_bytes if headers else 0
        first_offset = headers[0].base_offset if headers else self.next_offset
        last_offset = headers[-1].last_offset if headers else first_offset - 1
        info = LogAppendInfo(first_offset, last_offset, size, self._body.log_start_offset)
        view = memoryview(batches)[:size]
        if size < DIRECT_WRITE_SIZE_BYTES:
            view = memoryview(bytes(view))
        try:
            self._queue_batches(headers, view)
        except KafkaError as error:  # the disk failed between two batches
            self._undo_group(error)
            raise
        self._schedule_write(info, on_written)
        if size >= DIRECT_WRITE_SIZE_BYTES:
            self._write_in_pieces()
        return info

    def _validated_headers(self, batches: Buffer, leader_epoch: int) -> list[BatchHeader]:
        headers = list(iter_batch_headers(batches, allow_partial_tail=True))
        if headers and headers[0].base_offset < self.next_offset <= headers[0].last_offset and self._is_empty():
            self._start_inside_batch(headers[0].base_offset)
        body, expected = self._body, self.next_offset
        gaps_below = GAPS_ANYWHERE if body.config.compacts else body.gaps_below  # the leader may have compacted them
        least_epoch, behind_gap = body.epochs.latest, None
        for header in headers:
            base_offset, epoch = header.base_offset, header.partition_leader_epoch
            if base_offset == expected:
                behind_gap = None
            elif behind_gap is not None and base_offset < expected:
                raise KafkaError(Error.CORRUPT_MESSAGE, f"a batch has {behind_gap.fault(base_offset)}")
            elif not expected < base_offset <= gaps_below:
                raise KafkaError(Error.CORRUPT_MESSAGE, f"a batch at offset {base_offset}, the log ends at {expected}")
            else:
                behind_gap = BatchBehindGap(expected, base_offset, header.position)
            if header.last_offset_delta < 0 or not check_crc(batches, header):
                raise KafkaError(Error.CORRUPT_MESSAGE, f"the batch at offset {base_offset} is corrupt")
            if not least_epoch <= epoch <= leader_epoch:
                raise KafkaError(
                    Error.CORRUPT_MESSAGE,
                    f"the batch at offset {base_offset} has leader epoch {epoch}, not {least_epoch} to {leader_epoch}",
                )
            least_epoch = max(least_epoch, epoch)
            expected = header.next_offset
        if behind_gap is not None and len(headers) > 1:
            headers.pop()  # no batch confirms its offset yet; the next fetch begins with it, and its leader checks it
        return headers

    def _store_last_gap(self, headers: list[BatchHeader]) -> None:
        """Stores up to where `headers`, which will be appended, have gaps."""
        for slot in range(len(headers) - 1, -1, -1):
            base_offset = headers[slot].base_offset
            if base_offset != (headers[slot - 1].next_offset if slot else self.next_offset):
                self._body.allow_gaps_to(base_offset)
                return

    def _queue_batches(self, headers: list[BatchHeader], view: memoryview) -> None:
        """Queues `view`, split where a new segment begins."""
        body = self._body
        queued = 0  # bytes of `view` that are in the group's buffers
        for header in headers:
            if body.is_full_for(header.size_bytes, header.last_offset, header.max_timestamp):
                self._add_buffer(view[queued : header.position])
                queued = header.position
                self._roll_segment(header.base_offset, header.size_bytes)
            if header.partition_leader_epoch > body.epochs.latest:
                self.assign_epoch_start(header.partition_leader_epoch, header.base_offset)
            if self._mark is None:
                self._mark = body.segments.active.mark()
            if header.producer_id >= 0:
                self._producers_before.append((header.producer_id, body.producers.entries.get(header.producer_id)))
                self._note_batch(header, view)
            body.segments.active.accept(header.base_offset, header.last_offset, header.size_bytes, header.max_timestamp)
            self.next_offset = header.next_offset
        self._add_buffer(view[queued:])

    def _is_empty(self) -> bool:
        return self._body.segments.active.size == 0 and len(self._body.segments) == 1

    def _start_inside_batch(self, base_offset: int) -> None:
        """The leader's log start is inside its first batch: an empty log begins with the complete batch."""
        start = self._body.log_start_offset
        with self._directory.guard(f"restarting {self._body.folder}"):
            self._body.restart_at(base_offset)
        self._body.log_start_offset = start
        self.next_offset = self.log_end_offset = base_offset

    def _passes_fast_validation(self, batch: Buffer, header: tuple[int, ...], now_ms: int) -> bool:
        """The fast validation: True for a complete, ordinary, uncompressed batch of a client without any fault.
        Yields."""
        _, length, _, magic, crc, attributes, delta, base_timestamp, max_timestamp, pid, epoch, sequence, count = header
        rules = self._rules
        return (
            length + LOG_OVERHEAD == len(batch) <= rules.max_message_bytes
            and magic == MAGIC
            and not attributes
            and 0 <= delta == count - 1
            and max_timestamp - now_ms <= rules.timestamp_after_max_ms
            and now_ms - base_timestamp <= rules.timestamp_before_max_ms
            and (pid < 0 or (epoch >= 0 and sequence >= 0))
            and crc32c(memoryview(batch)[21:]) == crc
            and now_ms - base_timestamp + (max_timestamp - base_timestamp) <= rules.timestamp_before_max_ms
            and 0 <= walk_records(batch, HEADER_SIZE, count) == max_timestamp - base_timestamp
        )
