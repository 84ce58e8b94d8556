"""The log cleaner of a broker: chooses logs, runs their rounds, remembers those that cannot be cleaned (Kafka's
LogCleaner and LogCleanerManager)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import KafkaError
from signalbox.storage.cleaner.failed_logs import FailedLogs
from signalbox.storage.cleaner.log_cleaning import CleaningAborted, CleaningStats, LogCleaning, Round
from signalbox.storage.cleaner.log_to_clean import LogToClean, log_to_clean
from signalbox.storage.cleaner.worker_port import (
    CleaningFault,
    CleaningWorker,
    WorkerLimits,
    WorkerLost,
    WorkerOutdated,
)
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.log import Log
from signalbox.storage.log_manager import LogManager

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class LastRound:
    """The figures of Kafka's gauges: of the last round, and of the last choice."""

    duration_s: float = 0.0
    stats: CleaningStats | None = None
    map_utilization: float = 0.0
    dirtiest_ratio: float = 0.0
    max_overdue_ms: int = 0
    chosen_at_ms: int = 0


class LogCleaner:
    """Several rounds may run at a time, each with a worker of its own."""

    def __init__(self, logs: LogManager, clock: Clock) -> None:
        self._logs = logs
        self._clock = clock
        self._in_progress: set[TopicPartition] = set()
        self._failed = FailedLogs()
        self._stopped = False
        self.last = LastRound(chosen_at_ms=clock.now_ms())

    def stop(self) -> None:
        """Ends the rounds at their next step; none begins any more."""
        self._stopped = True

    def end_backoff(self) -> None:
        """The time of `log.cleaner.backoff.ms` has passed: logs whose rounds failed may be chosen again. Removes the
        segments that were replaced `file.delete.delay.ms` ago."""
        self._failed.end_backoff(self._logs.get)
        for directory in self.directories:
            directory.removals.run_due(self._clock.now_ms())

    # -- the choice

    def next_log(self) -> LogToClean | None:
        """The dirtiest log that is due; `clean` must be called for it. A log whose round made no progress is not due
        before the end of the backoff. Yields."""
        now_ms = self._clock.now_ms()
        self.last.chosen_at_ms = now_ms
        candidates = [target for target in self._targets(now_ms) if target.clean_bytes + target.dirty_bytes]
        self.last.dirtiest_ratio = max((target.dirty_ratio for target in candidates), default=0.0)
        self.last.max_overdue_ms = max((target.overdue_ms for target in candidates), default=0)
        due = [target for target in candidates if target.is_due and self._may_clean(target.log)]
        if not due:
            return None
        dirtiest = max(due, key=lambda target: target.dirty_ratio)
        self._in_progress.add(dirtiest.log.topic_partition)
        return dirtiest

    def _targets(self, now_ms: int) -> Iterator[LogToClean]:
        """Yields."""
        for log in yielding(self._logs):
            if not self._may_clean(log):
                continue
            try:
                with log.body.directory.guard(f"measuring {log.body.folder}"):
                    target = log_to_clean(log, now_ms)
            except KafkaError:
                continue  # its directory is offline now, or no file descriptor is free
            yield target

    def _may_clean(self, log: Log) -> bool:
        partition = log.topic_partition
        return partition not in self._in_progress and self._is_cleanable(log) and self._failed.may_clean(log)

    def _is_cleanable(self, log: Log) -> bool:
        partition = log.topic_partition
        return (
            not self._stopped
            and log.online
            and log.config.compacts
            and self._logs.get(partition) is log
            and not self._logs.moves.is_moving(partition)
        )

    def is_valid(self, target: LogToClean) -> bool:
        """Whether the log is still the one that was chosen, and may be cleaned."""
        return self._is_cleanable(target.log) and target.log.body.truncations == target.truncations

    # -- rounds

    def clean(self, target: LogToClean, worker: CleaningWorker, limits: WorkerLimits) -> Round:
        """The round of a log that `next_log` returned. Its errors are handled and logged. Yields."""
        log = target.log
        began_s = self._clock.monotonic()
        cleaning = LogCleaning(target, worker, limits, self._clock, lambda: self._is_cleanable(log))
        try:
            yield from cleaning.run()
        except CleaningFault as fault:
            if cleaning.is_valid:  # otherwise it was truncated while it was read
                self._failed.add_uncleanable(log)
                self._log_uncleanable(log, fault)
                self._check(log, fault.offset)
        except OSError as error:
            if cleaning.is_valid:  # otherwise its folder was renamed meanwhile
                log.body.directory.fail(error, f"cleaning {log.body.folder}")
        except WorkerLost as error:
            self._worker_lost(log, error, cleaning.is_valid)
        except WorkerOutdated as error:
            self._log_retried(log, error)
        except (CleaningAborted, KafkaError) as error:
            _log.info("Cleaning of partition %s aborted: %s", log.topic_partition, error)
        else:
            if cleaning.made_progress:
                self._completed(log, cleaning.stats, self._clock.monotonic() - began_s)
        finally:
            self._in_progress.discard(log.topic_partition)
            if cleaning.made_progress:
                self._failed.remove(log)
            else:
                self._failed.add(log)

    def _check(self, log: Log, offset: int) -> None:
        """Reports a corrupt batch: then the replica is rebuilt from its leader. Yields."""
        if offset >= log.log_start_offset:
            with suppress(KafkaError), log.body.directory.guard(f"checking {log.body.folder}"):
                log.check_at(offset)

    def _worker_lost(self, log: Log, error: WorkerLost, is_valid: bool) -> None:
        """`is_valid`: the log may still be cleaned. Otherwise its worker was ended on purpose."""
        if not is_valid:
            _log.info("Cleaning of partition %s aborted: %s", log.topic_partition, error)
        elif self._failed.add_lost_worker(log):
            self._log_uncleanable(log, error)
        else:
            self._log_retried(log, error)

    def _log_retried(self, log: Log, reason: Exception) -> None:
        _log.warning("Cleaning of partition %s failed and is retried: %s", log.topic_partition, reason)

    def _log_uncleanable(self, log: Log, reason: Exception) -> None:
        _log.error("Log of %s is not compacted any more, it is uncleanable: %s", log.topic_partition, reason)

    def _completed(self, log: Log, stats: CleaningStats, duration_s: float) -> None:
        self.last.duration_s, self.last.stats, self.last.map_utilization = duration_s, stats, stats.map_utilization
        _log.info(
            "Log cleaned (partition=%s, clean up to offset=%d, bytes read=%d, bytes kept=%d, records read=%d, records"
            " kept=%d, seconds=%.1f)",
            log.topic_partition, stats.end_offset, stats.bytes_read, stats.bytes_kept, stats.records_read,
            stats.records_kept, duration_s,
        )  # fmt: skip

    # -- partitions that cannot be cleaned

    def is_uncleanable(self, log: Log) -> bool:
        """Whether this log is not compacted any more. One that was truncated or reconfigured since is tried again."""
        return self._failed.is_uncleanable(log)

    def uncleanable(self, directory: LogDirectory) -> list[Log]:
        """The uncleanable logs of a directory."""
        return [log for log in self._logs if log.body.directory is directory and self.is_uncleanable(log)]

    @property
    def directories(self) -> list[LogDirectory]:
        return self._logs.directories

    def uncleanable_bytes(self, directory: LogDirectory) -> int:
        """The bytes that would be cleaned in these logs."""
        now_ms = self._clock.now_ms()
        total = 0
        for log in self.uncleanable(directory):
            with suppress(KafkaError), directory.guard(f"measuring {log.body.folder}"):
                total += log_to_clean(log, now_ms).dirty_bytes
        return total
