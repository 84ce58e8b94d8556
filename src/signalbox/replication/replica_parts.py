"""What a replica manager is made of: its neighbours, and the engine that drives waiting and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from signalbox.common.clock import Clock
from signalbox.replication.deadlines import Deadlines, Timers
from signalbox.replication.ports import (
    AlterPartitionSender,
    ClusterView,
    LeaderChannels,
    LeadershipListener,
    TopicConfigs,
)
from signalbox.replication.purgatory import AtTurnEnd, Purgatory

_SLICE = 200
T = TypeVar("T")


@dataclass(slots=True)
class Neighbours:
    """Who this broker is and whom replication talks to. `broker_epoch` is asked at every use: it changes with every
    registration."""

    broker_id: int
    broker_epoch: Callable[[], int]
    cluster: ClusterView
    configs: TopicConfigs
    alter_partition: AlterPartitionSender
    leaders: LeaderChannels
    listeners: list[LeadershipListener] = field(default_factory=list)


class Engine:
    """Time and waiting. `at_turn_end` runs a callback once when the running turn of the data loop ends, `run_long` work
    that may be too long for one go (`common/long_work.py`)."""

    def __init__(
        self, clock: Clock, timers: Timers, at_turn_end: AtTurnEnd, run_long: Callable[[Callable[[], None]], None]
    ) -> None:
        self._run_long = run_long
        self.clock = clock
        self.at_turn_end = at_turn_end
        self.deadlines = Deadlines(clock, timers)
        self.purgatory = Purgatory(self.deadlines, at_turn_end)

    def every(self, interval_ms: float, action: Callable[[], None]) -> None:
        """Run `action` again and again, until the deadlines are closed."""

        def run() -> None:
            self.deadlines.add(interval_ms, run)
            self._run_long(action)

        self.deadlines.add(interval_ms, run)

    def in_slices(self, items: Sequence[T], action: Callable[[T], None], done: Callable[[], None]) -> None:
        """Run `action` on every item, a slice per turn of the loop, so that nobody waits for a long list."""

        def run(start: int) -> None:
            for item in items[start : start + _SLICE]:
                action(item)
            following = start + _SLICE
            if following < len(items):
                self.deadlines.add(0, lambda: run(following))
            else:
                done()

        run(0)
