"""The purgatory: requests wait here for events of a partition, without polling.

A waiting operation is in the watch lists of its partitions. Events mark operations for another attempt (`wake`); at the
end of the turn, `try_complete` is called once for each marked operation. So a turn with appends, or a follower's fetch
of fifty partitions, costs a parked consumer one attempt, not fifty. Every operation has a deadline, at which it is
finished with the results so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

from signalbox.replication.deadlines import Deadline, Deadlines

WatchList = dict["Waiting", None]
AtTurnEnd = Callable[[Callable[[], None]], None]  # run a callback once, at the end of the current turn of the loop


class DelayedOperation(Protocol):
    @property
    def kind(self) -> str:
        """Kafka's name of the purgatory: Fetch, DeleteRecords."""
        ...

    def try_complete(self) -> bool:
        """Finish if that is possible now; True if finished."""
        ...

    def expire(self) -> None:
        """The deadline has passed: finish with the results so far."""
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
        self.sizes: Counter[str] = Counter()  # parked operations by kind

    @property
    def size(self) -> int:
        """Parked operations of all kinds."""
        return self.sizes.total()

    def of_replica(self, broker_id: int) -> WatchList:
        """The watch list for the fetches of one follower: one list for all its partitions."""
        return self._of_replicas.setdefault(broker_id, {})

    def park(self, operation: DelayedOperation, lists: Iterable[WatchList], delay_ms: float) -> Waiting:
        """Park `operation` in `lists` (no list: until its deadline only)."""
        waiting = Waiting(operation, tuple(lists))
        for watchers in waiting.lists:
            watchers[waiting] = None
        waiting.deadline = self._deadlines.add(delay_ms, lambda: self._expire(waiting))
        self.sizes[operation.kind] += 1
        return waiting

    def wake(self, watchers: WatchList) -> None:
        """Mark all operations of a watch list; they are attempted at the end of the turn."""
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
        """Attempt every marked operation once, including those that are marked meanwhile."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._marked:
                waiting = next(iter(self._marked))
                del self._marked[waiting]
                if waiting.deadline is not None and waiting.operation.try_complete():
                    self.drop(waiting)
        finally:  # an exception of one operation must not stop the others
            self._settling = False
            if self._marked:
                self._arm()

    def drop(self, waiting: Waiting) -> None:
        """Remove an operation, finished or abandoned. A second call has no effect."""
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
        self.sizes[waiting.operation.kind] -= 1
