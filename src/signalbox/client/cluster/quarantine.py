"""Rejected routes: the (node, address) pairs that lead to another node, and when to check them again.

A permanently misrouted node must not make the whole client rebootstrap again and again (SPEC R6; Java's client does). A
quarantined route is probed with one cheap ApiVersions, every 25 ms at first and later after an eighth of the time for
which it has been quarantined, at most 500 ms: an outage of a moment ends with a moment's delay. A bootstrap server is
asked for a better address at 0, 1, 2, 4 … 60 s, for all routes together at most once a second: Metadata with new node
ids each time would otherwise cause a request per round trip. Every other route stays as it is.

A route that was rejected in the last ten minutes and was right again meanwhile is quarantined at once: to rebootstrap
each time would close the connections of all other nodes as often as one address changes back and forth.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from signalbox.client.connection.node import Address
from signalbox.common.backoff import Backoff

Route = tuple[int, Address]

FIRST_PROBE_MS = 25
_PROBE_SHARE = 8
FORGET_AFTER_MS = 600_000  # an older rejection no longer counts
_MAX_RELEASED = 1_000
FIRST_BACKOFF_MS = 1_000
MAX_BACKOFF_MS = 60_000


@dataclass(slots=True)
class RejectedRoute:
    """One route that leads to another node. Times in ms on the state machine's clock. `recurs`: it was rejected before,
    and right again meanwhile."""

    rejections: int
    last_rejected_at_ms: float
    seeds: Backoff  # ms
    recurs: bool = False
    quarantined: bool = False
    quarantined_at_ms: float = 0.0
    probe_at_ms: float = 0.0
    seeds_at_ms: float = 0.0


class Quarantine:
    """All rejected routes of one client."""

    def __init__(self, max_probe_interval_ms: float = 500.0) -> None:
        self._max_probe_interval_ms = max_probe_interval_ms
        self.routes: dict[Route, RejectedRoute] = {}
        self._released: dict[Route, float] = {}  # verified again: when they were rejected last, the oldest first
        self._seeds_not_before_ms = -inf

    def note_rejection(self, route: Route, now_ms: float) -> RejectedRoute:
        """Record a rejection; an existing entry of the route is updated."""
        rejected = self.routes.get(route)
        if rejected is None or now_ms - rejected.last_rejected_at_ms > FORGET_AFTER_MS:
            recurs = now_ms - self._released.pop(route, -inf) <= FORGET_AFTER_MS
            rejected = RejectedRoute(0, now_ms, Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS), recurs)
            self.routes[route] = rejected
        rejected.rejections += 1
        rejected.last_rejected_at_ms = now_ms
        return rejected

    def add(self, route: Route, now_ms: float) -> None:
        """Quarantine a rejected route, or keep it quarantined after a probe that was rejected or failed."""
        rejected = self.routes[route]
        if not rejected.quarantined:
            rejected.quarantined = True
            rejected.quarantined_at_ms = rejected.seeds_at_ms = now_ms
            rejected.seeds.reset()
        share_ms = (now_ms - rejected.quarantined_at_ms) / _PROBE_SHARE
        rejected.probe_at_ms = now_ms + min(max(FIRST_PROBE_MS, share_ms), self._max_probe_interval_ms)

    def probe_begun(self, route: Route) -> None:
        """A probe is under way: no other one is due until `add` schedules it."""
        self.routes[route].probe_at_ms = inf

    def postpone_probe(self, route: Route, now_ms: float) -> None:
        """The probe that is due cannot begin now."""
        self.routes[route].probe_at_ms = now_ms + self._max_probe_interval_ms

    def release(self, route: Route) -> None:
        """The route was verified: its entry is removed, and only the time of its last rejection is kept."""
        rejected = self.routes.pop(route, None)
        if rejected is None:
            return
        self._released[route] = rejected.last_rejected_at_ms
        if len(self._released) > _MAX_RELEASED:
            del self._released[next(iter(self._released))]

    def retain(self, current_routes: set[Route]) -> None:
        """New Metadata has these routes: quarantined routes that it no longer has are removed."""
        for route in [route for route, row in self.routes.items() if row.quarantined and route not in current_routes]:
            del self.routes[route]

    def holds(self, route: Route) -> bool:
        """Whether this route is quarantined."""
        rejected = self.routes.get(route)
        return rejected is not None and rejected.quarantined

    def due_probes(self, now_ms: float) -> list[Route]:
        """Routes whose probe is due."""
        return [route for route, row in self.routes.items() if row.quarantined and row.probe_at_ms <= now_ms]

    def take_seed_refresh(self, now_ms: float) -> bool:
        """Whether to ask a bootstrap server for better addresses now. If so, the next time is scheduled."""
        if now_ms < self._seeds_not_before_ms:
            return False
        due = [row for row in self.routes.values() if row.quarantined and row.seeds_at_ms <= now_ms]
        for row in due:
            row.seeds_at_ms = now_ms + row.seeds.grow()
        if due:
            self._seeds_not_before_ms = now_ms + FIRST_BACKOFF_MS
        return bool(due)

    def next_event_ms(self) -> float | None:
        """When the next probe or request to a bootstrap server is due; None without quarantined routes."""
        rows = [row for row in self.routes.values() if row.quarantined]
        return min(
            (min(row.probe_at_ms, max(row.seeds_at_ms, self._seeds_not_before_ms)) for row in rows), default=None
        )
