"""Probes quarantined routes: one connect with identity shows whether the address leads to its node again.

Probes run concurrently with each other and with everything else, so a route that drops connects delays no other work.
An address is probed once at a time, however many nodes advertise it (a load balancer that all of them name), and a
client has few probes under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.client.cluster.quarantine import Route
from signalbox.client.cluster.rebootstrap import Rebootstrap
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.failures import ClientFailure, Misrouted

log = logging.getLogger("signalbox.client")

MAX_PROBES = 16


class QuarantineProbes:
    """`keep(node id, connection)` takes over the connection of a probe that reached its node: the next request needs
    no other one. `on_probed(verified)` is called when a probe has ended."""

    def __init__(
        self,
        rebootstrap: Rebootstrap,
        settings: ConnectionSettings,
        keep: Callable[[int, ClientConnection], None],
        on_probed: Callable[[bool], None],
    ) -> None:
        self._rebootstrap = rebootstrap
        self._settings = settings
        self._keep = keep
        self._on_probed = on_probed
        self._probes: dict[Route, asyncio.Task[None]] = {}

    def start_due_probes(self, now_ms: float) -> None:
        """Start the probes that are due, as far as the limits allow; the others are due again later."""
        quarantine = self._rebootstrap.quarantine
        for route in quarantine.due_probes(now_ms):
            under_way = {address for _, address in self._probes}
            if route[1] in under_way or len(under_way) >= MAX_PROBES:
                quarantine.postpone_probe(route, now_ms)
            else:
                quarantine.probe_begun(route)
                self._probes[route] = asyncio.get_running_loop().create_task(self._probe(route))

    @property
    def under_way(self) -> frozenset[Route]:
        """The routes that are being probed."""
        return frozenset(self._probes)

    async def close(self) -> None:
        tasks = tuple(self._probes.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._probes.clear()  # those that had not begun

    async def _probe(self, route: Route) -> None:
        node_id, address = route
        verified = False
        try:
            connection = await connect(address, self._settings, self._rebootstrap.identity_of(node_id))
        except Exception as failure:  # whatever it is, without another probe the node would stay quarantined
            if not isinstance(failure, ClientFailure):
                log.warning("Probe of node %d at %s failed unexpectedly", node_id, address, exc_info=True)
            self._still_wrong(route, isinstance(failure, Misrouted))
        else:
            if connection.verified:
                verified = True
                self._verified(route, connection)
            else:
                connection.close("the probe is over")
                self._still_wrong(route, rejected=False)
        finally:
            self._probes.pop(route, None)
            self._on_probed(verified)

    def _verified(self, route: Route, connection: ClientConnection) -> None:
        node_id, address = route
        log.warning("Node %d is reachable at %s again", node_id, address)
        is_current = self._rebootstrap.quarantine.holds(route)
        self._rebootstrap.route_verified(route)
        if is_current and connection.identity == self._rebootstrap.identity_of(node_id):
            self._keep(node_id, connection)
        else:  # the client has started over, or has other addresses
            connection.close("the probe is over")

    def _still_wrong(self, route: Route, rejected: bool) -> None:
        """Schedule the next probe. A route that is no longer quarantined (Metadata changed) needs none."""
        quarantine = self._rebootstrap.quarantine
        now_ms = asyncio.get_running_loop().time() * 1000
        if quarantine.holds(route):
            if rejected:
                quarantine.note_rejection(route, now_ms)
            quarantine.add(route, now_ms)
