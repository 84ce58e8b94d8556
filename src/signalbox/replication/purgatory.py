"""Where requests wait for something to happen to a partition, without polling.

A waiting operation hangs in the watch lists of its partitions. Events mark operations as worth another look (`wake`);
when the turn of the loop ends, each marked operation is looked at once. So an append turn, or a follower's fetch over
fifty partitions, costs a parked consumer one look, not fifty. Every operation has a deadline, at which it is finished
with what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from signalbox.replication.deadlines import Deadline, Deadlines

WatchList = dict["Waiting", None]
AtTurnEnd = Callable[[Callable[[], None]], None]  # run a callback once, when the running turn of the loop ends


class DelayedOperation(Protocol):
    def try_complete(self) -> bool:
        """Finish if it can be finished now; True when it is over."""
        ...

    def expire(self) -> None:
        """The deadline has passed: finish with what there is."""
        ...


class Waiting:
    """One parked operation: its watch lists and its deadline."""

    __slots__ = ("deadline", "lists", "operation")

    def __init__(self, operation: DelayedOperation, lists: tuple[WatchList, ...]) -> None:
        self.operation = operation
        self.lists = lists
        self.deadline: Deadline | None = None


class Purgatory:
    """The parked operations of one replica manager."""

    def __init__(self, deadlines: Deadlines, at_turn_end: AtTurnEnd) -> None:
        self._deadlines = deadlines
        self._at_turn_end = at_turn_end
        self._armed = False
        self._marked: WatchList = {}
        self._settling = False
        self._of_replicas: dict[int, WatchList] = {}
        self.size = 0

    def of_replica(self, broker_id: int) -> WatchList:
        """Where the fetches of one follower wait: one list for all its partitions, however many."""
        return self._of_replicas.setdefault(broker_id, {})

    def park(self, operation: DelayedOperation, lists: Iterable[WatchList], delay_ms: float) -> Waiting:
        """Let `operation` wait in `lists` (no list: for its deadline alone)."""
        waiting = Waiting(operation, tuple(lists))
        for watchers in waiting.lists:
            watchers[waiting] = None
        waiting.deadline = self._deadlines.add(delay_ms, lambda: self._expire(waiting))
        self.size += 1
        return waiting

    def wake(self, watchers: WatchList) -> None:
        """Mark all operations of a watch list; they are looked at when the turn ends."""
        if watchers:
            self._marked.update(watchers)
            self._arm()

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            self._at_turn_end(self._end_turn)

    def _end_turn(self) -> None:
        self._armed = False
        self.settle()

    def settle(self) -> None:
        """Look at every marked operation once. What completing them wakes is looked at in the same call."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._marked:
                waiting = next(iter(self._marked))
                del self._marked[waiting]
                if waiting.deadline is not None and waiting.operation.try_complete():
                    self.drop(waiting)
        finally:  # one that raises does not take the others along
            self._settling = False
            if self._marked:
                self._arm()

    def drop(self, waiting: Waiting) -> None:
        """Take an operation out, finished or given up. Harmless the second time."""
        if waiting.deadline is None:
            return
        waiting.deadline.cancel()
        self._unlink(waiting)

    def _expire(self, waiting: Waiting) -> None:
        if waiting.deadline is not None:
            self._unlink(waiting)
            waiting.operation.expire()

    def _unlink(self, waiting: Waiting) -> None:
        waiting.deadline = None
        for watchers in waiting.lists:
            watchers.pop(waiting, None)
        self.size -= 1
