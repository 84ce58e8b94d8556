"""The purgatory: requests wait here for events of a partition, without polling.

A waiting operation is in the watch lists of its partitions. Events mark operations for another attempt (`wake`); at the
end of the loop iteration, `try_complete` is called once for each marked operation. So an iteration with appends, or a
follower's fetch of fifty partitions, costs a parked consumer one attempt, not fifty. Every operation has a deadline, at
which it is finished with the results so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

from signalbox.common.waiting.deadlines import Deadline, Deadlines

WatchList = dict["ParkedOperation", None]
AtIterationEnd = Callable[[Callable[[], None]], None]  # run a callback once, at the end of the loop iteration


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


class ParkedOperation:
    """One parked operation: its watch lists and its deadline."""

    __slots__ = ("deadline", "lists", "operation")

    def __init__(self, operation: DelayedOperation, lists: tuple[WatchList, ...]) -> None:
        self.operation = operation
        self.lists = lists
        self.deadline: Deadline | None = None


class Purgatory:
    """The parked operations of one replica manager."""

    def __init__(self, deadlines: Deadlines, at_iteration_end: AtIterationEnd) -> None:
        self._deadlines = deadlines
        self._at_iteration_end = at_iteration_end
        self._armed = False
        self._marked: WatchList = {}
        self._completing = False
        self._of_replicas: dict[int, WatchList] = {}
        self.sizes: Counter[str] = Counter()  # parked operations by kind

    @property
    def size(self) -> int:
        """Parked operations of all kinds."""
        return self.sizes.total()

    def of_replica(self, broker_id: int) -> WatchList:
        """The watch list for the fetches of one follower: one list for all its partitions."""
        return self._of_replicas.setdefault(broker_id, {})

    def park(self, operation: DelayedOperation, lists: Iterable[WatchList], delay_ms: float) -> ParkedOperation:
        """Park `operation` in `lists` (no list: until its deadline only)."""
        parked = ParkedOperation(operation, tuple(lists))
        for watchers in parked.lists:
            watchers[parked] = None
        parked.deadline = self._deadlines.add(delay_ms, lambda: self._expire(parked))
        self.sizes[operation.kind] += 1
        return parked

    def wake(self, watchers: WatchList) -> None:
        """Mark all operations of a watch list; they are attempted at the end of the loop iteration."""
        if watchers:
            self._marked.update(watchers)
            self._arm()

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            self._at_iteration_end(self._on_iteration_end)

    def _on_iteration_end(self) -> None:
        self._armed = False
        self.complete_marked()

    def complete_marked(self) -> None:
        """Attempt every marked operation once, including those that are marked meanwhile."""
        if self._completing:
            return
        self._completing = True
        try:
            while self._marked:
                parked = next(iter(self._marked))
                del self._marked[parked]
                if parked.deadline is not None and parked.operation.try_complete():
                    self.drop(parked)
        finally:  # an exception of one operation must not stop the others
            self._completing = False
            if self._marked:
                self._arm()

    def drop(self, parked: ParkedOperation) -> None:
        """Remove an operation, finished or abandoned. A second call has no effect."""
        if parked.deadline is None:
            return
        parked.deadline.cancel()
        self._unlink(parked)

    def _expire(self, parked: ParkedOperation) -> None:
        if parked.deadline is not None:
            self._unlink(parked)
            parked.operation.expire()

    def _unlink(self, parked: ParkedOperation) -> None:
        parked.deadline = None
        for watchers in parked.lists:
            watchers.pop(parked, None)
        self.sizes[parked.operation.kind] -= 1
