"""Routes that were refused: which (node, address) pairs lead to somebody else, and when to look at them again.

A permanently misrouted node must not make the whole client start over again and again (SPEC R6; Java's does). A
quarantined route is probed with one cheap ApiVersions, quickly at first; a seed is asked for a better address at
0, 1, 2, 4 … 60 s. Every other route stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.client.node import Address
from signalbox.common.backoff import Backoff

Route = tuple[int, Address]

FIRST_PROBE_MS = 50
FORGET_AFTER_MS = 600_000  # a refusal this old says nothing about today
FIRST_BACKOFF_MS = 1_000
MAX_BACKOFF_MS = 60_000


@dataclass(slots=True)
class RefusedRoute:
    """One route that leads to somebody else. Times in ms on the machine's clock."""

    refusals: int
    last_refused_at_ms: float
    probes: Backoff  # ms, as the next
    seeds: Backoff
    quarantined: bool = False
    probe_at_ms: float = 0.0
    seeds_at_ms: float = 0.0


class Quarantine:
    """All refused routes of one client."""

    def __init__(self, max_probe_interval_ms: float = 500.0) -> None:
        self._max_probe_interval_ms = max_probe_interval_ms
        self.routes: dict[Route, RefusedRoute] = {}

    def note_refusal(self, route: Route, now_ms: float) -> RefusedRoute:
        """Remember a refusal; what is already known of the route is kept."""
        known = self.routes.get(route)
        if known is None or now_ms - known.last_refused_at_ms > FORGET_AFTER_MS:
            probes = Backoff(FIRST_PROBE_MS, self._max_probe_interval_ms)
            known = self.routes[route] = RefusedRoute(0, now_ms, probes, Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS))
        known.refusals += 1
        known.last_refused_at_ms = now_ms
        return known

    def set_aside(self, route: Route, now_ms: float) -> None:
        """Put a refused route in quarantine, or keep it there after a probe that was refused or failed."""
        known = self.routes[route]
        if not known.quarantined:
            known.quarantined = True
            known.seeds_at_ms = now_ms
            known.seeds.reset()
            known.probes.reset()
        known.probe_at_ms = now_ms + known.probes.grow()

    def release(self, route: Route) -> None:
        """The route was verified: whatever was held against it is forgotten."""
        self.routes.pop(route, None)

    def keep_only(self, known: set[Route]) -> None:
        """Fresh Metadata names these routes: quarantined ones that it no longer names are gone for good."""
        for route in [route for route, row in self.routes.items() if row.quarantined and route not in known]:
            del self.routes[route]

    def holds(self, route: Route) -> bool:
        """May this route not be used at the moment?"""
        known = self.routes.get(route)
        return known is not None and known.quarantined

    def due_probes(self, now_ms: float) -> list[Route]:
        """Routes to be probed now."""
        return [route for route, row in self.routes.items() if row.quarantined and row.probe_at_ms <= now_ms]

    def take_seed_refresh(self, now_ms: float) -> bool:
        """Should a seed be asked for better addresses now? Asking moves the next time on."""
        due = [row for row in self.routes.values() if row.quarantined and row.seeds_at_ms <= now_ms]
        for row in due:
            row.seeds_at_ms = now_ms + row.seeds.grow()
        return bool(due)

    def next_event_ms(self) -> float | None:
        """When something is due next."""
        times = [min(row.probe_at_ms, row.seeds_at_ms) for row in self.routes.values() if row.quarantined]
        return min(times, default=None)
