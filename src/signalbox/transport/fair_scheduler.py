"""Which connection of the data loop is handled next: start-time fair scheduling by processor time, in two levels.

Connections belong to traffic classes. A connection that exchanges small frames is LIGHT; one is HEAVY while it receives
or sends large frames; connections of replica fetchers, on both sides, are REPLICATION. Each class has the same share of
the time while it has work. A class that had used less than its share comes first, so a light request waits for one work
of another class at most, and a flood of light requests leaves the others their share. Within REPLICATION and HEAVY the
same rule holds between connections; works of one connection run in their order. LIGHT connections are handled in the
order in which they became ready, by the data loop itself: their events are too cheap for an account of each.

The rule (start-time fair scheduling): a work starts at the end of its member's last work, or at the virtual time if
that is later and the member had no work; it ends at its start plus the seconds that it took, and the earliest start is
next. The virtual time is the start of the running work; between members it advances by at least the time used, divided
by the number of members with work, so that members which always are new ones do not stop those that have work. There
are no sockets here, and the clock is a parameter.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Hashable
from enum import IntEnum
from heapq import heappop, heappush

_KEPT_ENDS = 64  # of members without work, before they are looked through

log = logging.getLogger("signalbox.transport")

Work = Callable[[], bool]  # True if it has more to do: it is called again, before later works of its member


class TrafficClass(IntEnum):
    """In the order in which classes are preferred if they have used equal time."""

    LIGHT = 0
    REPLICATION = 1
    HEAVY = 2


class MemberQueue:
    """Works of the members of one class. The member with the earliest virtual start is next. `end`: the end of the
    class's last work in the virtual time of the classes."""

    __slots__ = ("_ends", "_entries", "_starts", "_virtual_time", "end", "works")

    def __init__(self) -> None:
        self.works: dict[Hashable, deque[Work]] = {}
        self.end = 0.0
        self._starts: list[tuple[float, int, Hashable]] = []  # a heap; one entry per member of `works`
        self._ends: dict[Hashable, float] = {}
        self._virtual_time = 0.0
        self._entries = 0

    def add(self, member: Hashable, work: Work) -> None:
        """Queue `work` behind the other works of `member`."""
        works = self.works.get(member)
        if works is None:
            self.works[member] = deque((work,))
            self._push(member, max(self._virtual_time, self._ends.get(member, 0.0)))
        else:
            works.append(work)

    def run_next(self, clock: Callable[[], float], now: float) -> tuple[Hashable, float]:
        """Run the next work; returns its member and the time afterwards. Its errors are logged. The member counts as
        one with work until its work is over."""
        start, _, member = heappop(self._starts)
        before, members = self._virtual_time, len(self.works)
        self._virtual_time = max(before, start)
        works = self.works[member]
        work = works.popleft()
        try:
            if work():
                works.appendleft(work)
        except Exception:
            log.exception("Unexpected error in an event of the data plane")
        ended = clock()
        self._ends[member] = end = start + ended - now
        self._virtual_time = max(self._virtual_time, before + (ended - now) / members)
        if works:
            self._push(member, end)
        else:
            del self.works[member]
            self._forget_ends()
        return member, ended

    def _forget_ends(self) -> None:
        """An end that is not later than the virtual time has no influence any more: its member may be gone."""
        if not self.works:
            self._ends.clear()  # no member waits: none is owed time
        elif len(self._ends) > 2 * len(self.works) + _KEPT_ENDS:
            self._ends = {member: end for member, end in self._ends.items() if end > self._virtual_time}

    def _push(self, member: Hashable, start: float) -> None:
        self._entries += 1
        heappush(self._starts, (start, self._entries, member))


class FairScheduler:
    """The shares of the three classes, and the works of REPLICATION and HEAVY. `waiting`: whether there are any.
    `ended`: the member whose last work has just ended, None if it has more."""

    def __init__(self) -> None:
        self.waiting = False
        self.ended: Hashable | None = None
        self._replication, self._heavy = MemberQueue(), MemberQueue()
        self._queue_of: dict[Hashable, MemberQueue] = {}
        self._light_end = 0.0
        self._virtual_time = 0.0

    def __len__(self) -> int:
        """The number of members whose works wait."""
        return len(self._queue_of)

    def __contains__(self, member: Hashable) -> bool:
        """Whether works of `member` wait, or one of them is running."""
        return member in self._queue_of

    def add(self, member: Hashable, traffic_class: TrafficClass, work: Work) -> None:
        """Queue a work of `member`, which has others or is not LIGHT: behind those, even if its class was another one
        when they were added."""
        queue = self._queue_of.get(member)
        if queue is None:
            queue = self._replication if traffic_class is TrafficClass.REPLICATION else self._heavy
            self._queue_of[member] = queue
            self.waiting = True
        queue.add(member, work)

    def light_is_next(self) -> bool:
        """Whether LIGHT has used no more of its share than the class that would be next. Call it only if `waiting`."""
        return self._light_end <= max(self._virtual_time, self._next_queue().end)

    def charge_light(self, seconds: float) -> None:
        """LIGHT connections were handled for so long while other classes had work."""
        self._virtual_time = start = max(self._virtual_time, self._light_end)
        self._light_end = start + seconds

    def run_next(self, clock: Callable[[], float], now: float) -> float:
        """Run one work of the class that has used least of its share, at time `now`; returns the time afterwards. Call
        it only if `waiting`."""
        queue = self._next_queue()
        start = max(self._virtual_time, queue.end)
        member, ended = queue.run_next(clock, now)
        self._virtual_time = start
        queue.end = start + ended - now
        self.ended = None
        if member not in queue.works:
            self.ended = member
            del self._queue_of[member]
            if not self._queue_of:
                self.waiting = False
                self._light_end = self._replication.end = self._heavy.end = self._virtual_time = 0.0
        return ended

    def _next_queue(self) -> MemberQueue:
        """The class with work that has used least of its share; REPLICATION first if they have used equal time."""
        replication, heavy = self._replication, self._heavy
        if not replication.works:
            return heavy
        heavy_used_less = heavy.end < replication.end > self._virtual_time
        return heavy if heavy.works and heavy_used_less else replication
