"""The move of one log to another log directory of the same broker (KIP-113), while it is read and appended to.

The files are copied into a folder `<topic>-<partition>.<32 hex>-future`, round after round, in the background. When
little is left, and the copy is durable, the last round runs at once between two appends, and the log continues with the
new files; the old ones are removed later. Segments that are deleted meanwhile need not be copied; after a truncation
the copy starts again. Kafka's future replica is a follower of the current one instead, with the same names on disk.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from signalbox.common.rate_limit import RateLimit
from signalbox.protocol.error_table import KafkaError
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import (
    CLEANER_OFFSET_FILE,
    GAP_OFFSET_FILE,
    INDEX_SUFFIX,
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    PARTITION_METADATA_FILE,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    future_folder_name,
    offset_name,
    offsets_in,
)
from signalbox.storage.files.file_system import FileSystem, write_fully
from signalbox.storage.files.open_files import OpenFile
from signalbox.storage.log import Log
from signalbox.storage.log_body import LogBody
from signalbox.storage.producers.producer_snapshot import save_snapshot

logger = logging.getLogger(__name__)

ROUND_BYTES = 8 << 20  # copied per round by the background thread, which also has syncs to do
LAST_ROUND_BYTES = 256 << 10  # left for the loop's thread, which also has appends to do
_CHUNK_BYTES = 1 << 20
_INDEXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


CallLater = Callable[[float, Callable[[], None]], object]  # delay in ms, function


class MoveThrottle(RateLimit):
    """Of all moves of a broker (`replica.alter.log.dirs.io.max.bytes.per.second`). `call_later` must be set before a
    rate is."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__(monotonic)
        self.call_later: CallLater = lambda delay_ms, resume: None

    def delays(self, resume: Callable[[], None]) -> bool:
        """Whether the next bytes must wait; `resume` is then called later and must ask again."""
        if not self.in_debt():
            return False
        self.call_later(self.wait_ms(), resume)
        return True


class _SourceUnreadable(OSError):
    """The present files of the log cannot be read, or were truncated meanwhile."""


class _CopyDiffers(Exception):
    """The copy differs from the original."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bytes `start` to `end` of a segment's file. The open file stays readable after the segment is deleted."""

    source: OpenFile
    path: str
    start: int
    end: int


class LogMove:
    """`on_ended` is called when the log has moved, or stays where it is; `on_moved` when the old folder, in its
    directory, may be deleted."""

    def __init__(
        self,
        log: Log,
        target: LogDirectory,
        on_moved: Callable[[LogDirectory, str], None],
        on_ended: Callable[[], None],
        throttle: MoveThrottle,
    ) -> None:
        self.log = log
        self.target = target
        self._on_moved = on_moved
        self._on_ended = on_ended
        self._throttle = throttle
        self._cancelled = False
        self._reset()

    @property
    def size_bytes(self) -> int:
        """The bytes copied so far, including the current round."""
        return sum(self._copied.values())

    @property
    def offset_lag(self) -> int:
        """The number of offsets that are not copied yet, by whole segments."""
        behind = (s.base_offset for s in self.log.body.segments if self._copied.get(s.base_offset, 0) < s.written)
        return self.log.log_end_offset - next(behind, self.log.log_end_offset)

    def begin(self) -> None:
        """Create the folder and begin to copy; KafkaError(KAFKA_STORAGE_ERROR)."""
        with self.target.guard(f"creating {self._folder}"):
            self._file_system.make_directory(self._folder)
        self._next_round()

    def cancel(self) -> None:
        """Leave the log where it is. The copied files are deleted with the next round, or when the broker starts."""
        self._cancelled = True

    @property
    def _file_system(self) -> FileSystem:
        return self.target.disk.file_system

    def _reset(self) -> None:
        name = future_folder_name(self.log.topic_partition)
        self._folder = os.path.join(self.target.path, name)
        self._copied: dict[int, int] = {}
        self._indexed: set[int] = set()
        self._truncations = self.log.body.truncations
        self._durable = False
        self._durable_to = 0

    # -- rounds

    def _next_round(self) -> None:
        """On the loop's thread: decides what to copy now. Ends the move if it cannot continue."""
        if self._cancelled or not self.log.online or not self.target.online:
            self._abort()
            return
        if self._throttle.delays(self._next_round):
            return
        if self.log.body.truncations != self._truncations:
            self._discard()
            self._reset()
            try:
                self.begin()
            except KafkaError:
                self._abort()
            return
        try:
            pieces, indexes = list(self._pieces(ROUND_BYTES)), list(self._final_indexes())
        except OSError as error:
            self.log.body.directory.fail(error, f"reading {self.log.body.folder}")
            self._abort()
            return
        bytes_left = sum(piece.end - piece.start for piece in pieces)
        self._throttle.record(bytes_left)
        if bytes_left <= LAST_ROUND_BYTES and not indexes and self._durable:
            self._finish(pieces)
            return
        make_durable = bytes_left <= LAST_ROUND_BYTES
        self._durable_to = self.log.body.segments.active.base_offset
        self.target.background.run(lambda: self._copy(pieces, indexes, make_durable), self._on_copied)
        self._durable = make_durable

    def _pieces(self, limit_bytes: int) -> Iterator[_Piece]:
        for segment in self.log.body.segments:
            start = self._copied.get(segment.base_offset, 0)
            end = min(segment.written, start + limit_bytes)
            if end > start or segment.base_offset not in self._copied:
                yield _Piece(segment.file(), self._path(segment.base_offset, LOG_SUFFIX), start, end)
                limit_bytes -= end - start
                self._copied[segment.base_offset] = end
            if limit_bytes <= 0:
                return

    def _final_indexes(self) -> Iterator[tuple[str, str]]:
        """The indexes of closed segments that are copied: pairs of source and target path."""
        *closed, _ = self.log.body.segments
        for segment in closed:
            base = segment.base_offset
            if base not in self._indexed and self._copied.get(base, -1) == segment.written:
                self._indexed.add(base)
                yield from ((segment.path(suffix), self._path(base, suffix)) for suffix in _INDEXES)

    def _copy(self, pieces: list[_Piece], files: list[tuple[str, str]], make_durable: bool) -> None:
        """On the background thread. OSError is a fault of the target, except _SourceUnreadable."""
        for piece in pieces:
            _copy_piece(self._file_system, piece)
        for source, path in files:
            _copy_file(self._file_system, source, path)
        if make_durable:
            for name in os.listdir(self._folder):
                file = OpenFile(self._file_system, os.path.join(self._folder, name))
                self._file_system.fsync(file.fd)
            self._file_system.sync_directory(self._folder)

    def _on_copied(self, error: BaseException | None) -> None:
        body = self.log.body
        if isinstance(error, _SourceUnreadable):
            if body.truncations == self._truncations and not self._cancelled:
                body.directory.fail(error, f"reading {body.folder}")
        elif isinstance(error, OSError):
            self.target.fail(error, f"copying {self.log.topic_partition} to {self._folder}")
            self._cancelled = True
        elif error is not None:
            logger.error(
                "Move of partition %s to log directory %s failed: %s", self.log.topic_partition, self.target.path, error
            )
            self._cancelled = True
        self._next_round()

    # -- the last round

    def _finish(self, pieces: list[_Piece]) -> None:
        log, body = self.log, self.log.body
        log.complete_group()
        if not log.online or body.truncations != self._truncations:
            self._next_round()
            return
        source, old_folder = body.directory, body.folder
        try:
            with source.guard(f"saving the indexes of {old_folder}"):
                body.segments.active.save_indexes()
            folder = self._complete(body, [*pieces, *self._pieces(ROUND_BYTES)])
            log.relocate(folder, self.target, self._durable_to)
        except _SourceUnreadable as error:
            source.fail(error, f"reading {old_folder}")
        except OSError as error:
            self.target.fail(error, f"moving {log.topic_partition} to {self.target.path}")
        except (KafkaError, _CopyDiffers) as error:
            logger.error(
                "Move of partition %s to log directory %s failed: %s", log.topic_partition, self.target.path, error
            )
        if body.directory is not self.target:
            self._abort()
            return
        logger.info("Partition %s moved to log directory %s", log.topic_partition, self.target.path)
        self._on_ended()
        # The old folder may only be deleted when the new name is durable.
        self.target.background.run(
            lambda: self._file_system.sync_directory(self.target.path),
            lambda error: self._on_renamed(error, source, old_folder),
        )

    def _on_renamed(self, error: BaseException | None, source: LogDirectory, old_folder: str) -> None:
        if isinstance(error, OSError):
            self.target.fail(error, f"syncing {self.target.path}")
        else:
            self._on_moved(source, old_folder)

    def _complete(self, body: LogBody, pieces: list[_Piece]) -> str:
        """Copies the rest of the files and renames the folder to the partition's name; returns its path."""
        file_system, active = self._file_system, body.segments.active
        base_offsets = {segment.base_offset for segment in body.segments}
        for base in offsets_in(self._folder, LOG_SUFFIX):
            if base not in base_offsets:
                self._remove(base)
        files = [
            *self._final_indexes(),
            *((active.path(suffix), self._path(active.base_offset, suffix)) for suffix in _INDEXES),
            *((os.path.join(body.folder, name), os.path.join(self._folder, name)) for name in _OTHER_FILES),
        ]
        self._copy(pieces, files, make_durable=False)
        if self.log.log_end_offset > body.segments[0].base_offset:
            save_snapshot(file_system, self._path(self.log.log_end_offset, SNAPSHOT_SUFFIX), body.producers)
        for segment in body.segments:
            if (size := os.path.getsize(self._path(segment.base_offset, LOG_SUFFIX))) != segment.written:
                raise _CopyDiffers(f"the copy of {segment.path(LOG_SUFFIX)} has {size} bytes, it has {segment.written}")
        self._save_gaps(body)
        folder = os.path.join(self.target.path, str(self.log.topic_partition))
        file_system.rename(self._folder, folder)
        return folder

    def _save_gaps(self, body: LogBody) -> None:
        """Saves in the target where the log may have gaps. Under its final name the folder is loaded by the next start,
        which would otherwise truncate it at its first gap, and delete it as the older copy."""
        for name, offset in ((CLEANER_OFFSET_FILE, body.compacted_to), (GAP_OFFSET_FILE, body.gaps_to)):
            if offset:
                self.target.raise_checkpoint(name, self.log.topic_partition, offset, sync=True)

    def _path(self, base_offset: int, suffix: str) -> str:
        return os.path.join(self._folder, offset_name(base_offset, suffix))

    def _remove(self, base_offset: int) -> None:
        for suffix in SEGMENT_SUFFIXES:
            path = self._path(base_offset, suffix)
            if os.path.exists(path):
                self._file_system.remove(path)

    def _abort(self) -> None:
        self._discard()
        self._on_ended()

    def _discard(self) -> None:
        if self.target.online:
            self.target.removals.add(self._folder, 0)


_OTHER_FILES = (LEADER_EPOCH_FILE, PARTITION_METADATA_FILE)


def _copy_piece(file_system: FileSystem, piece: _Piece) -> None:
    file = OpenFile(file_system, piece.path, create=True)
    position = piece.start
    while position < piece.end:
        data = _read(file_system, piece, position)
        write_fully(file_system, file.fd, data, position)
        position += len(data)


def _read(file_system: FileSystem, piece: _Piece, position: int) -> bytes:
    try:
        data = file_system.pread(piece.source.fd, min(_CHUNK_BYTES, piece.end - position), position)
    except OSError as error:
        raise _SourceUnreadable(error.errno, error.strerror) from error
    if not data:
        raise _SourceUnreadable(f"ends at {position} instead of {piece.end}")
    return data


def _copy_file(file_system: FileSystem, source: str, path: str) -> None:
    """Copies a complete file; does nothing if it does not exist (any more)."""
    try:
        size = os.path.getsize(source)
        opened = OpenFile(file_system, source)
    except FileNotFoundError:
        return
    _copy_piece(file_system, _Piece(opened, path, 0, size))
