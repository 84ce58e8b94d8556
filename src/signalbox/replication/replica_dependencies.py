"""The dependencies of a replica manager: its ports, and the scheduler of deadlines and parked requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from signalbox.common.file_slice import AllResident, PageReads
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.metadata.cache import MetadataCache
from signalbox.replication.follower.leader_channel import ReconnectingChannels
from signalbox.replication.ports import (
    AlterPartitionSender,
    LeadershipListener,
    TopicConfigs,
)
from signalbox.replication.waiting.purgatory import AtIterationEnd, Purgatory
from signalbox.storage.files.background import Background, InlineBackground


@dataclass(slots=True)
class Dependencies:
    """This broker's identity and the ports of replication. `broker_epoch` is called at every use: it changes with
    every registration."""

    broker_id: int
    broker_epoch: Callable[[], int]
    cluster: MetadataCache
    configs: TopicConfigs
    alter_partition: AlterPartitionSender
    leaders: ReconnectingChannels
    listeners: list[LeadershipListener] = field(default_factory=list)


class Scheduler:
    """Time and waiting. `at_iteration_end` runs a callback once, at the end of the current iteration of the data loop;
    `run_long` runs work as a cooperative task (`common/cooperative_task.py`); `threads` runs work outside the event
    loop, `page_reads` reads of files."""

    def __init__(
        self,
        deadlines: Deadlines,
        at_iteration_end: AtIterationEnd,
        run_long: Callable[[Callable[[], None]], None],
        threads: Background | None = None,
        page_reads: PageReads | None = None,
    ) -> None:
        self.run_long = run_long
        self.threads = threads or InlineBackground()
        self.page_reads = page_reads or AllResident()
        self.clock = deadlines.clock
        self.at_iteration_end = at_iteration_end
        self.deadlines = deadlines
        self.purgatory = Purgatory(self.deadlines, at_iteration_end)

    def every(self, interval_ms: float, action: Callable[[], None]) -> None:
        """Run `action` periodically until the deadlines are closed."""

        def run() -> None:
            self.deadlines.add(interval_ms, run)
            self.run_long(action)

        self.deadlines.add(interval_ms, run)
