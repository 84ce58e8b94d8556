"""One partition's log: append, read, truncate. The API of storage for replication and the handlers.

Appends have two steps. `append_*` validates, assigns offsets and queues; `flush_appends` (of the log, or of the
`LogManager` for all logs once per loop iteration) passes the bytes to the operating system and calls the callbacks.
Between the two, `next_offset` already counts a batch and `log_end_offset` does not; reads return written bytes only.

An I/O error takes the log directory offline: every call raises KafkaError KAFKA_STORAGE_ERROR from then on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from signalbox.common.cooperative_task import no_yield
from signalbox.common.file_slice import FileSlice, IsResident, NotInPageCache
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.log_body import LogBody
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_retention import deletable_segments, is_due_without_timestamp
from signalbox.storage.producers.producer_state import ProducerEntry
from signalbox.storage.segments.timestamp_search import Search, find_by_timestamp, find_max_timestamp
from signalbox.storage.segments.transaction_index import AbortedTransaction
from signalbox.storage.validation.log_checks import LogChecks

logger = logging.getLogger(__name__)

HIGH_WATERMARK = -1  # DeleteRecords' offset for the high watermark


class LogSlice:
    """Batches from a log: `records` is a part of one segment file, or b"" if there are no batches.

    `first_offset` is the base offset of the first batch, which may be before the requested offset; -1 if empty. The
    last batch may be cut off by the byte limit, as in Kafka.
    """

    __slots__ = ("first_offset", "records")

    def __init__(self, records: FileSlice | bytes, first_offset: int) -> None:
        self.records = records
        self.first_offset = first_offset

    def __len__(self) -> int:
        return len(self.records)


EMPTY_SLICE = LogSlice(b"", -1)


class Log(LogChecks):
    """`high_watermark` is set by replication; `topic_id` is 16 bytes, zeros while it is not known.
    `previous_high_watermark` is the one of the last run if the log ends before it, until replication has a role for the
    log; 0 otherwise."""

    __slots__ = ("_flushed_ms", "high_watermark", "previous_high_watermark", "topic_id")

    def __init__(self, topic_partition: TopicPartition, topic_id: bytes, body: LogBody, next_offset: int) -> None:
        super().__init__(topic_partition, body, next_offset)
        self.topic_id = topic_id
        self.high_watermark = body.log_start_offset
        self.previous_high_watermark = 0
        self._flushed_ms = 0

    def restore_high_watermark(self, checkpointed: int) -> None:
        """Restores the high watermark that the last run saved, as far as the log goes. Logs which committed records are
        lost."""
        end_offset = self.log_end_offset
        if checkpointed > end_offset:
            self.previous_high_watermark = checkpointed
            logger.warning(
                "Log of %s ends below its high watermark (log end offset=%d, high watermark=%d): records from offset %d"
                " to %d are gone from this replica, and are fetched from a leader that has them",
                self.topic_partition, end_offset, checkpointed, end_offset, checkpointed - 1,
            )  # fmt: skip
        high_watermark = min(checkpointed, self._body.epochs_verified_to, end_offset)
        self.high_watermark = max(high_watermark, self.log_start_offset)

    # -- properties ---------------------------------------------------------------------------------------------

    @property
    def body(self) -> LogBody:
        """The log's files: for the manager and for tests."""
        return self._body

    @property
    def config(self) -> LogConfig:
        return self._body.config

    @property
    def online(self) -> bool:
        return self._directory.online

    @property
    def log_start_offset(self) -> int:
        return self._body.log_start_offset

    @property
    def last_leader_epoch(self) -> int:
        """The latest leader epoch in this log, -1 if there is none."""
        return self._body.epochs.latest

    @property
    def producers(self) -> Mapping[int, ProducerEntry]:
        """The state of idempotent producers, by id."""
        return self._body.producers.entries

    @property
    def oldest_transaction_ms(self) -> int:
        """The time of the last batch in the transaction that is open for longest, by its timestamp; -1 if none is."""
        return self._body.producers.oldest_transaction_ms()

    @property
    def last_stable_offset(self) -> int:
        """Where readers of committed records end: the first offset of the oldest transaction that is open, or whose
        marker is not below the high watermark; at most the high watermark."""
        high_watermark, producers = self.high_watermark, self._body.producers
        if not producers.ongoing and not producers.unreplicated:
            return high_watermark
        unstable = max(producers.first_unstable_offset(high_watermark), self._body.log_start_offset)
        return min(high_watermark, unstable)

    def forget_replicated_transactions(self) -> None:
        """Forgets ended transactions below the high watermark: a replica that no client reads has no other occasion."""
        producers = self._body.producers
        if producers.unreplicated:
            producers.forget_replicated(self.high_watermark)

    @property
    def size_bytes(self) -> int:
        return self._body.segments.size_bytes()

    def update_config(self, config: LogConfig) -> None:
        """Applies `config` from the next batch on."""
        self._body.apply_config(config)
        self._apply_config(config)

    # -- read ---------------------------------------------------------------------------------------------------

    def read(
        self,
        offset: int,
        max_bytes: int,
        max_offset: int | None = None,
        min_one_batch: bool = True,
        is_resident: IsResident | None = None,
    ) -> LogSlice:
        """Batches from the one that contains `offset` on, all before `max_offset`, from one segment.

        At most `max_bytes`, but at least one complete batch with `min_one_batch`; without it, an empty slice rather
        than a part of the first batch. KafkaError OFFSET_OUT_OF_RANGE outside of log start..log end. Yields, but only
        before it raises CORRUPT_MESSAGE. With `is_resident`: NotInPageCache if the look-up of `offset` would wait for
        a disk.
        """
        body = self._body
        end_offset = self.log_end_offset
        if self._directory.offline_reason is not None:
            self._directory.reject_offline()
        if offset < body.log_start_offset or offset > end_offset:
            raise KafkaError(
                Error.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.topic_partition} is not within {body.log_start_offset}..{end_offset}",
            )
        limit = end_offset if max_offset is None or max_offset > end_offset else max_offset
        if offset >= limit:
            return EMPTY_SLICE
        try:
            return self._slice(offset, limit, max_bytes, min_one_batch, is_resident)
        except OSError as error:
            raise self._directory.fail(error, f"reading {body.folder}") from error

    def uncached_lookup(self, offset: int, is_resident: IsResident) -> FileSlice | None:
        """What `read` would wait for to find `offset`; None: it would not wait, or it reports an error."""
        try:
            with no_yield():
                self.read(offset, 0, is_resident=is_resident)
        except NotInPageCache as uncached:
            return uncached.piece
        except KafkaError:
            return None
        return None

    def _slice(
        self,
        offset: int,
        limit: int,
        max_bytes: int,
        min_one_batch: bool,
        is_resident: IsResident | None,
    ) -> LogSlice:
        """Yields, as `read` does."""
        segments = self._body.segments
        active = segments.active
        slot = len(segments) - 1 if offset >= active.base_offset else segments.slot_of(offset)
        while slot < len(segments):
            segment = segments[slot]
            location = segment.locate(offset, is_resident)
            if location is not None and (location[2] <= offset or offset < self._body.gaps_below):
                break
            if offset >= self._body.gaps_below:
                raise self.unreadable_at(offset)
            slot += 1  # the offsets in between were removed by compaction
        else:
            return EMPTY_SLICE
        position, size, base_offset = location
        end = segment.written
        if size > end - position:
            raise self.unreadable_at(offset)
        if limit < self.log_end_offset and limit < segments.end_of(slot, self.log_end_offset):
            limit_location = segment.locate(limit)
            end = limit_location[0] if limit_location is not None else end
        available = end - position
        if available > max_bytes:
            available = max_bytes if max_bytes >= size else (size if min_one_batch else 0)
        if available <= 0:
            return EMPTY_SLICE
        return LogSlice(segment.slice(position, available), base_offset)

    def aborted_transactions(self, offset: int, records: LogSlice) -> list[AbortedTransaction]:
        """The aborted transactions of which records may be in `records`, which were read from `offset` on. At least
        those; a transaction that begins close behind the records may be among them."""
        if not isinstance(records.records, FileSlice):
            return []
        try:
            slot = self._body.segments.slot_of(records.first_offset)
            end_offset = self._body.segments[slot].indexed_from(records.records.position + len(records))
            if end_offset is None:
                end_offset = self._body.segments.end_of(slot, self.log_end_offset)
            return self._body.aborted_transactions(offset, end_offset)
        except OSError as error:
            raise self._directory.fail(error, f"reading transaction indexes of {self._body.folder}") from error

    def offset_for_timestamp(self, timestamp: int) -> Search:
        """The search for the first record that is not older than `timestamp`. Yields."""
        with self._directory.guard(f"searching {self._body.folder}"):
            return (yield from find_by_timestamp(self._body, timestamp))

    def offset_of_max_timestamp(self) -> Search:
        """The search for the first record with the largest timestamp (ListOffsets -3). Yields."""
        with self._directory.guard(f"searching {self._body.folder}"):
            return (yield from find_max_timestamp(self._body))

    def epoch_of(self, offset: int) -> int:
        """The leader epoch in which `offset` was written, -1 if unknown."""
        return self._body.epochs.epoch_of(offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """(the largest known epoch not above `leader_epoch`, its end offset); (-1, -1) if there is none."""
        return self._body.epochs.end_offset_for(leader_epoch, self.log_end_offset)

    # -- change -------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Ends the log at `offset` (or before the batch that contains it); False if the log does not go beyond it."""
        self.complete_group()
        if offset >= self.log_end_offset:
            # A leader that was replaced before its first append has left the start of its leader epoch behind.
            with self._directory.guard(f"writing leader epochs of {self._body.folder}"):
                self._body.forget_epochs_from(self.log_end_offset)
            return False
        with self._directory.guard(f"truncating {self._body.folder}"):
            start = self._body.log_start_offset
            end = self._body.truncate_to(offset) if offset > start else offset
            if end <= start:  # nothing is left: a batch that spans the log start is removed completely
                end = min(offset, start)
                self._body.restart_at(end)
        self._set_end_offset(end)
        return True

    def truncate_corruption(self, offset: int) -> None:
        """Ends the log before its first corrupt batch, which is at `offset`."""
        self.complete_group()
        corruption, start = self.corruption, self._body.log_start_offset
        assert corruption is not None
        with self._directory.guard(f"truncating {self._body.folder}"):
            place = corruption.segment_base_offset, corruption.position
            end = self._body.truncate_to(max(offset, corruption.segment_base_offset), place)
            if end <= start:
                end = start
                self._body.restart_at(end)
        self._set_end_offset(end)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Deletes everything; the log continues at `offset`."""
        self.complete_group()
        with self._directory.guard(f"restarting {self._body.folder}"):
            self._body.restart_at(offset)
        self._set_end_offset(offset)
        self.high_watermark = offset

    def _set_end_offset(self, offset: int) -> None:
        self.log_end_offset = self.next_offset = offset
        self.high_watermark = max(min(self.high_watermark, offset), self._body.log_start_offset)
        if self.corruption is not None and self.corruption.offset >= offset:
            self.corruption = None
        self._directory.mark_checkpoints_stale(self.topic_partition, offset)

    def delete_records_before(self, offset: int) -> int:
        """Moves the log start to `offset` (-1: the high watermark); returns the new log start.

        Segments that are completely before it are deleted. KafkaError OFFSET_OUT_OF_RANGE above the high watermark.
        """
        target = self.high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= target <= self.high_watermark:
            raise KafkaError(
                Error.OFFSET_OUT_OF_RANGE, f"offset {offset} is not within 0..{self.high_watermark} (high watermark)"
            )
        if target > self._body.log_start_offset:
            with self._directory.guard(f"deleting records of {self._body.folder}"):
                self._body.start_at(target)
        return self._body.log_start_offset

    def run_retention(self, now_ms: int) -> int:
        """Deletes segments that are too old, beyond the size limit, or before the log start; returns how many."""
        self.complete_group()
        with self._directory.guard(f"retention of {self._body.folder}"):
            if is_due_without_timestamp(self._body, now_ms):
                self._body.roll(self.log_end_offset)
            reasons = deletable_segments(self._body, self.high_watermark, self.log_end_offset, now_ms)
            count, start_offset = len(reasons), self._body.log_start_offset
            if count == len(self._body.segments):
                self._body.roll(self.log_end_offset)
            if count:
                self._body.drop_oldest(count)
                logger.info("Deleted the oldest segments (partition=%s, segments=%d, log start offset=%d, before=%d,"
                            " log end offset=%d, reason=%s)", self.topic_partition, count, self._body.log_start_offset,
                            start_offset, self.log_end_offset, ", ".join(dict.fromkeys(reasons)))  # fmt: skip
        self.high_watermark = max(self.high_watermark, self._body.log_start_offset)
        return count

    def expire_producers(self, now_ms: int, expiration_ms: int) -> int:
        """Removes producers without a batch for `expiration_ms`; returns how many."""
        self._body.verifications.expire(now_ms, expiration_ms)
        return self._body.producers.expire(now_ms, expiration_ms)

    def roll(self) -> None:
        """Closes the active segment and begins a new one, unless it is empty."""
        self.complete_group()
        with self._directory.guard(f"rolling {self._body.folder}"):
            if self._body.segments.active.size > 0:
                self._body.roll(self.log_end_offset)

    def flush(self) -> None:
        """Writes what is queued and makes the log durable up to its end (fsync)."""
        self.flush_appends()
        with self._directory.guard(f"syncing {self._body.folder}"):
            self._body.sync(self.log_end_offset)

    def flush_if_due(self, now_ms: int) -> None:
        """Calls `flush` if records have not been durable for `flush.ms`."""
        if self._body.recovery_point >= self.log_end_offset:
            self._flushed_ms = now_ms
        elif now_ms - self._flushed_ms >= self._body.config.flush_ms:
            self.flush()
            self._flushed_ms = now_ms

    def relocate(self, folder: str, directory: LogDirectory, durable_to: int) -> None:
        """Switches to copies of the log's files; nothing is queued. OSError: they cannot be used, and the log keeps its
        files."""
        self._body.relocate(folder, directory, durable_to)
        self._directory = directory
        self._pwrite = directory.disk.file_system.pwrite

    def abandon(self) -> None:
        """The folder is deleted: later calls on this log are rejected, and its directory stays online."""
        self.complete_group()
        self._body.close_files()
        self._directory = self._directory.offline_copy(f"{self.topic_partition} was deleted")

    def close(self) -> None:
        """Makes everything durable, with a snapshot at the end, so that the next start replays nothing.

        Later calls are rejected: nothing may be written after the clean-shutdown marker.
        """
        self.flush()
        with self._directory.guard(f"closing {self._body.folder}"):
            self._body.close(self.log_end_offset)
        self._directory = self._directory.offline_copy(f"{self.topic_partition} is closed")
