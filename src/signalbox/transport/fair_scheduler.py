"""Which connection of the data loop is handled next: start-time fair queueing by processor time, in two levels.

Connections belong to traffic classes. A connection that exchanges small frames is LIGHT; one is HEAVY while it receives
or sends large frames; connections of replica fetchers, on both sides, are REPLICATION. Each class has the same share of
the time while it has work. A class that had used less than its share comes first, so a light request waits for one work
of another class at most, and a flood of light requests leaves the others their share. Within REPLICATION and HEAVY the
same rule holds between connections; works of one connection run in their order. LIGHT connections are handled in the
order in which they became ready, by the data loop itself: their events are too cheap for an account of each.

The rule (Goyal, Vin, Cheng 1996): a work starts at the virtual time `max(virtual time of the queue, end of the member's
last work)`, ends at its start plus the seconds that it took, and the earliest start is next. There are no sockets here,
and the clock is a parameter.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Hashable
from enum import IntEnum
from heapq import heappop, heappush

log = logging.getLogger("signalbox.transport")

Work = Callable[[], bool]  # True if it has more to do: it is called again, before later works of its member


class TrafficClass(IntEnum):
    """In the order in which classes are preferred if they have used equal time."""

    LIGHT = 0
    REPLICATION = 1
    HEAVY = 2


class MemberQueue:
    """Works of the members of one class. The member with the earliest virtual start is next."""

    def __init__(self) -> None:
        self._works: dict[Hashable, deque[Work]] = {}
        self._starts: list[tuple[float, int, Hashable]] = []  # a heap; one entry per member of `_works`
        self._ends: dict[Hashable, float] = {}
        self._virtual_time = 0.0
        self._entries = 0

    def __len__(self) -> int:
        """The number of members with work."""
        return len(self._works)

    def __contains__(self, member: Hashable) -> bool:
        return member in self._works

    def add(self, member: Hashable, work: Work) -> None:
        """Queue `work` behind the other works of `member`."""
        works = self._works.get(member)
        if works is None:
            self._works[member] = deque((work,))
            self._push(member)
        else:
            works.append(work)

    def run_next(self, clock: Callable[[], float]) -> tuple[Hashable, float]:
        """Run the next work; returns its member and the seconds that it took. Its errors are logged. The member counts
        as one with work until its work is over."""
        start, _, member = heappop(self._starts)
        self._virtual_time = start
        works = self._works[member]
        work = works.popleft()
        began = clock()
        try:
            if work():
                works.appendleft(work)
        except Exception:
            log.exception("Unexpected error in an event of the data plane")
        elapsed = clock() - began
        self._ends[member] = start + elapsed
        if works:
            self._push(member)
        else:
            del self._works[member]
            if not self._works:
                self._ends.clear()  # no member waits: none is owed time
        return member, elapsed

    def _push(self, member: Hashable) -> None:
        self._entries += 1
        start = max(self._virtual_time, self._ends.get(member, 0.0))
        heappush(self._starts, (start, self._entries, member))


class FairScheduler:
    """The shares of the three classes, and the works of REPLICATION and HEAVY. `waiting`: whether there are any."""

    def __init__(self) -> None:
        self.waiting = False
        self._queues = {TrafficClass.REPLICATION: MemberQueue(), TrafficClass.HEAVY: MemberQueue()}
        self._queue_of: dict[Hashable, MemberQueue] = {}
        self._ends = dict.fromkeys(TrafficClass, 0.0)
        self._virtual_time = 0.0

    def __len__(self) -> int:
        """The number of members whose works wait."""
        return len(self._queue_of)

    def __contains__(self, member: Hashable) -> bool:
        """Whether works of `member` wait, or one of them is running."""
        return member in self._queue_of

    def add(self, member: Hashable, traffic_class: TrafficClass, work: Work) -> None:
        """Queue a work of `member`, behind its other works even if its class was another one when they were added."""
        queue = self._queue_of.get(member)
        if queue is None:
            queue = self._queue_of[member] = self._queues[traffic_class]
            self.waiting = True
        queue.add(member, work)

    def light_is_next(self) -> bool:
        """Whether LIGHT has used no more of its share than each class that has work."""
        light = self._start(TrafficClass.LIGHT)
        return all(light <= self._start(each) for each, queue in self._queues.items() if queue)

    def charge_light(self, seconds: float) -> None:
        """LIGHT connections were handled for so long while other classes had work."""
        self._charge(TrafficClass.LIGHT, seconds)

    def run_next(self, clock: Callable[[], float]) -> None:
        """Run one work of the class that has used least of its share. Call it only if `waiting`."""
        chosen = min((each for each, queue in self._queues.items() if queue), key=self._start)
        queue = self._queues[chosen]
        member, seconds = queue.run_next(clock)
        self._charge(chosen, seconds)
        if member not in queue:
            del self._queue_of[member]
            if not self._queue_of:
                self.waiting = False
                self._ends = dict.fromkeys(TrafficClass, 0.0)
                self._virtual_time = 0.0

    def _start(self, traffic_class: TrafficClass) -> float:
        return max(self._virtual_time, self._ends[traffic_class])

    def _charge(self, traffic_class: TrafficClass, seconds: float) -> None:
        self._virtual_time = start = self._start(traffic_class)
        self._ends[traffic_class] = start + seconds
