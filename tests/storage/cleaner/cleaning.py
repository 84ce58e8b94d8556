"""Building blocks for tests of the cleaner: keyed batches, markers, a log that is cleaned step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from signalbox.common.clock import ManualClock
from signalbox.protocol.records.batch_header import iter_batch_headers, read_batch_header
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.storage.cleaner.cleaning_pass import CleaningPass
from signalbox.storage.cleaner.log_cleaner import LogCleaner
from signalbox.storage.cleaner.log_cleaning import Round
from signalbox.storage.cleaner.worker_port import CleaningWorker, WorkerLimits
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from signalbox.storage.producers.transaction_verification import SWITCHED_OFF
from tests.storage.directories.test_log_move import ManualBackground
from tests.storage.workbench import TOPIC_ID, TP

NO_LIMIT = 1e18
LIMITS = WorkerLimits(1 << 20, 64 << 10, NO_LIMIT)
COMPACTED = LogConfig(
    cleanup_policy=("compact",), segment_bytes=2_000, index_interval_bytes=256, file_delete_delay_ms=0
)


def keyed(
    values: dict[str, str | None],
    *,
    now_ms: int = ManualClock().now_ms(),
    compression: str = "none",
    producer: tuple[int, int, int] | None = None,
    transactional: bool = False,
) -> bytes:
    """A batch of records with these keys and values. `producer`: id, epoch, sequence."""
    rows = [
        Record(timestamp=now_ms, key=key.encode(), value=None if value is None else value.encode())
        for key, value in values.items()
    ]
    producer_id, producer_epoch, sequence = producer or (-1, -1, -1)
    return encode_batch(
        rows,
        compression=compression,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def marker(producer_id: int, commit: bool, *, producer_epoch: int = 0, now_ms: int = ManualClock().now_ms()) -> bytes:
    """A transaction marker."""
    return encode_marker(producer_id, producer_epoch, TransactionMarker(commit, 0), now_ms)


def append_batch(log: Log, batch: bytes, now_ms: int) -> None:
    """Queues a batch of a client, whose verification is switched off, or of a coordinator."""
    header = read_batch_header(batch)
    if header.is_control:
        log.append_marker(batch, 0, now_ms, 0)
    elif header.is_transactional:
        log.append_admitted(log.admit_at_once(batch, now_ms), 0, from_client=False, guard=SWITCHED_OFF)
    else:
        log.append_as_leader(batch, 0, now_ms, from_client=False)


def steps(cleaning: Round) -> Iterator[None]:
    """Runs a round with its work for the background, and stops before each work."""
    try:
        work = next(cleaning)
        while True:
            yield
            try:
                result = work()
            except Exception as error:
                work = cleaning.throw(error)
            else:
                work = cleaning.send(result)
    except StopIteration:
        return


def drive(cleaning: Round) -> None:
    """Runs a complete round."""
    for _ in steps(cleaning):
        pass


class CompactedLog:
    """A broker with one compacted log, and its cleaner."""

    def __init__(self, folder: Path, config: LogConfig = COMPACTED, file_system: FileSystem | None = None) -> None:
        self.folder = folder
        self.config = config
        self.clock = ManualClock()
        self.file_system = file_system or FaultyFileSystem()
        self.background = ManualBackground()
        self.open()

    def open(self) -> None:
        """Opens the log directory, as at the start of a broker."""
        self.logs = LogManager(
            [str(self.folder / name) for name in "ab"], self.file_system, self.clock, self.background
        )
        self.logs.start("cluster", 0, lambda topic: self.config)
        self.log: Log = self.logs.create(TP, TOPIC_ID, self.config)
        self.log.high_watermark = self.log.log_end_offset
        self.cleaner = LogCleaner(self.logs, self.clock)
        self.worker: CleaningWorker = CleaningPass(self.file_system)

    def append(self, *batches: bytes, roll: bool = True) -> None:
        """Appends batches of clients or coordinators, all committed."""
        for batch in batches:
            append_batch(self.log, batch, self.clock.now_ms())
        self.logs.flush_appends()
        self.log.high_watermark = self.log.log_end_offset
        if roll:
            self.log.roll()

    def clean(self, limits: WorkerLimits = LIMITS) -> bool:
        """One round, if the log is due, after a backoff. Returns whether it was."""
        self.cleaner.end_backoff()
        target = self.cleaner.next_log()
        if target is None:
            return False
        drive(self.cleaner.clean(target, self.worker, limits))
        self.remove_retired()
        return True

    def remove_retired(self) -> None:
        """Removes the files that are due to be removed."""
        for directory in self.logs.directories:
            directory.removals.run_due(self.clock.now_ms() + 1)
        self.background.close()

    def kill(self) -> None:
        """The process ends, at once."""
        for directory in self.logs.directories:
            directory.unlock()

    def table(self) -> dict[str, str | None]:
        """The last value of each key, as a consumer that reads everything has it."""
        return {(r.key or b"").decode(): r.value and r.value.decode() for r in records_in(self.log)}  # type: ignore[misc]

    def offsets(self) -> list[int]:
        """The offsets of the records that are left."""
        return [record.offset for record in records_in(self.log)]


def records_in(log: Log) -> list[Record]:
    """All records that a consumer reads, those of control batches included; batches without records are passed over."""
    rows: list[Record] = []
    position = log.log_start_offset
    while position < log.log_end_offset:
        piece = log.read(position, 1 << 20)
        if not len(piece):
            break
        assert not isinstance(piece.records, bytes)
        data = piece.records.read()
        rows += [record for record in decode_records(data, allow_partial_tail=True) if record.offset >= position]
        position = _end_of(data)
    return rows


def _end_of(data: bytes) -> int:
    return max(batch.next_offset for batch in iter_batch_headers(data, allow_partial_tail=True))
