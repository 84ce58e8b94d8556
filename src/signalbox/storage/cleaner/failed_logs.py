"""Logs whose last round failed: which wait for the next backoff, and which are not compacted any more (uncleanable).

A log stays the dirtiest one until a round of it succeeds. If it were chosen again at once, no other log would be
compacted. A log whose data is at fault is uncleanable as long as it is the same log, with the same end and
configuration. So is a log whose worker is lost in several consecutive rounds: its batches may need more memory than the
host has.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.ids import TopicPartition
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig

MOST_LOST_WORKERS = 3  # consecutive rounds of one log

_State = tuple[Log, int, LogConfig]


class FailedLogs:
    """By partition."""

    def __init__(self) -> None:
        self._waiting: set[TopicPartition] = set()
        self._lost_workers: dict[TopicPartition, int] = {}
        self._uncleanable: dict[TopicPartition, _State] = {}

    def end_backoff(self, current: Callable[[TopicPartition], Log | None]) -> None:
        """Logs that wait may be cleaned again. `current`: the log of a partition now; others are forgotten."""
        self._waiting.clear()
        for partition, (log, _, _) in list(self._uncleanable.items()):
            if current(partition) is not log:
                del self._uncleanable[partition]
        for partition in list(self._lost_workers):
            if current(partition) is None:
                del self._lost_workers[partition]

    def add(self, log: Log) -> None:
        """A round of this log made no progress: it waits for the backoff."""
        self._waiting.add(log.topic_partition)

    def add_lost_worker(self, log: Log) -> bool:
        """A worker was lost in a round of this log. Returns whether that makes it uncleanable."""
        lost = self._lost_workers.get(log.topic_partition, 0) + 1
        self._lost_workers[log.topic_partition] = lost
        if lost < MOST_LOST_WORKERS:
            return False
        self.add_uncleanable(log)
        return True

    def add_uncleanable(self, log: Log) -> None:
        """The data of this log cannot be compacted."""
        self._lost_workers.pop(log.topic_partition, None)
        self._uncleanable[log.topic_partition] = _state(log)

    def remove(self, log: Log) -> None:
        """A round of this log succeeded."""
        self._lost_workers.pop(log.topic_partition, None)

    def may_clean(self, log: Log) -> bool:
        """Whether the log neither waits nor is uncleanable."""
        return log.topic_partition not in self._waiting and not self.is_uncleanable(log)

    def is_uncleanable(self, log: Log) -> bool:
        """Whether the log is not compacted any more. One that was truncated or reconfigured since is tried again."""
        return self._uncleanable.get(log.topic_partition) == _state(log)


def _state(log: Log) -> _State:
    return log, log.body.truncations, log.config
