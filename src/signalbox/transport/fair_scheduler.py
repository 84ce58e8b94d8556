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
from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush

log = logging.getLogger("signalbox.transport")

Work = Callable[[], bool]  # True if it has more to do: it is called again, before later works of its member


class TrafficClass(IntEnum):
    """In the order in which classes are preferred if they have used equal time."""

    LIGHT = 0
    REPLICATION = 1
    HEAVY = 2


class FairMember:
    """The works of one connection that wait, and its account in the queue of its class. `has_works`: whether works
    wait, or one of them is running."""

    __slots__ = ("end", "has_works", "queue", "works")

    def __init__(self) -> None:
        self.has_works = False
        self.works: list[Work] = []  # few: an event, a flush, the rest of what was received
        self.queue: MemberQueue | None = None
        self.end = 0.0


class MemberQueue:
    """Members of one class with works. The one with the earliest virtual start is next. `end`: the end of the class's
    last work in the virtual time of the classes."""

    __slots__ = ("_entries", "_latest_end", "_virtual_time", "end", "starts")

    def __init__(self) -> None:
        self.starts: list[tuple[float, int, FairMember]] = []  # a heap; one entry per member whose works wait
        self.end = 0.0
        self._latest_end = 0.0
        self._virtual_time = 0.0
        self._entries = 0

    def add(self, member: FairMember, work: Work) -> None:
        """Queue `work` behind the other works of `member`."""
        member.works.append(work)
        if not member.has_works:
            member.has_works = True
            if member.queue is not self:
                member.queue = self
                member.end = 0.0  # the time of another class means nothing here
            end = member.end
            self._push(member, end if end > self._virtual_time else self._virtual_time)

    def run_next(self, clock: Callable[[], float], now: float) -> tuple[FairMember, float]:
        """Run the next work; returns its member and the time afterwards. Its errors are logged. The member counts as
        one with work until its work is over."""
        start, _, member = heappop(self.starts)
        before, members = self._virtual_time, len(self.starts) + 1
        if start > before:
            self._virtual_time = start
        works = member.works
        work = works.pop(0)
        try:
            if work():
                works.insert(0, work)
        except Exception:
            log.exception("Unexpected error in an event of the data plane")
        ended = clock()
        member.end = end = start + ended - now
        if end > self._latest_end:
            self._latest_end = end
        reached = before + (ended - now) / members
        if reached > self._virtual_time:
            self._virtual_time = reached
        if works:
            self._push(member, end)
        else:
            member.has_works = False
            if not self.starts:
                self._virtual_time = self._latest_end  # no member waits: none is owed time
        return member, ended

    def _push(self, member: FairMember, start: float) -> None:
        self._entries += 1
        heappush(self.starts, (start, self._entries, member))


class FairScheduler:
    """The shares of the three classes, and the works of REPLICATION and HEAVY. `waiting`: whether there are any.
    `ended`: the member whose last work has just ended, None if it has more."""

    def __init__(self) -> None:
        self.waiting = False
        self.ended: FairMember | None = None
        self._replication, self._heavy = MemberQueue(), MemberQueue()
        self._light_end = 0.0
        self._virtual_time = 0.0

    def __len__(self) -> int:
        """The number of members whose works wait."""
        return len(self._replication.starts) + len(self._heavy.starts)

    def add(self, member: FairMember, traffic_class: TrafficClass, work: Work) -> None:
        """Queue a work of `member`, which has others or is not LIGHT: behind those, even if its class was another one
        when they were added."""
        queue = member.queue if member.has_works else None
        if queue is None:
            queue = self._replication if traffic_class is TrafficClass.REPLICATION else self._heavy
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
        if queue.end > self._virtual_time:
            self._virtual_time = queue.end
        start = self._virtual_time
        member, ended = queue.run_next(clock, now)
        queue.end = start + ended - now
        self.ended = None
        if not member.has_works:
            self.ended = member
            if not self._heavy.starts and not self._replication.starts:
                self.waiting = False
                self._light_end = self._replication.end = self._heavy.end = self._virtual_time = 0.0
        return ended

    def _next_queue(self) -> MemberQueue:
        """The class with work that has used least of its share; REPLICATION first if they have used equal time."""
        replication, heavy = self._replication, self._heavy
        if not replication.starts:
            return heavy
        heavy_used_less = heavy.end < replication.end > self._virtual_time
        return heavy if heavy.starts and heavy_used_less else replication
