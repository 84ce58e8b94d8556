"""The check of advertised addresses (SPEC R9): at the start, after each change of an advertised address of any broker,
and at an interval (`signalbox.advertised.check.interval.ms`). An address that was not verified is probed again sooner,
as `probe_schedule.py` says.

Two tasks beside the requests: one for this broker's own addresses, which begins at once and does not wait for silent
peers, and one for the addresses of peers, which begins when the own ones were probed. Each has a few connections at a
time, each with a timeout, none of them on the control plane. There the controller's connections send the expected
identity.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from random import random

from signalbox.common.config.config_table import Value
from signalbox.doctor.observations import AddressObservation
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage
from signalbox.server.advertised.address_probes import AdvertisedAddress, Prober, addresses_to_check, examination_of
from signalbox.server.advertised.address_reports import AddressReports
from signalbox.server.advertised.address_states import AddressState, RouteState, states_of
from signalbox.server.advertised.probe_schedule import ProbeSchedule

log = logging.getLogger(__name__)

CHECK_KEY = "signalbox.advertised.check"
INTERVAL_KEY = "signalbox.advertised.check.interval.ms"
_OFF, _WITHHOLDS_READINESS = "off", "refuse"
_SETTLE_S = 0.2  # brokers that start together change their addresses together
_LOOK_S = 5.0  # after at most so long a change of the two keys is noticed


class AdvertisedCheck:
    """`values` returns the broker's current configs; `control_plane` the name of its control-plane listener."""

    def __init__(
        self,
        cache: MetadataCache,
        prober: Prober,
        reports: AddressReports,
        values: Callable[[], Mapping[str, Value]],
        control_plane: str | None,
    ) -> None:
        self._cache = cache
        self._prober = prober
        self._reports = reports
        self._values = values
        self._without = () if control_plane is None else (control_plane,)
        self._changed = {True: asyncio.Event(), False: asyncio.Event()}  # for the own addresses, and for those of peers
        self._observations: dict[AdvertisedAddress, AddressObservation] = {}
        self._own_are_probed = False
        self._cancel: Callable[[], None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Check in the background, from now on."""
        self._cancel = self._cache.subscribe(self._image_changed)
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._run(is_own, ProbeSchedule(loop.time, random)), name=f"check of {whose} addresses")
            for is_own, whose in ((True, "own"), (False, "peers'"))
        ]

    async def stop(self) -> None:
        """Also without a start."""
        if self._cancel is not None:
            self._cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def states(self) -> list[AddressState]:
        """The result of the last check, this broker's own addresses first."""
        own = self._prober.identity.node_id
        return sorted(self._reports.states.values(), key=lambda row: (row.node_id != own, row.node_id, row.listener))

    def not_ready_reasons(self) -> list[str]:
        """Why this broker is not ready: with `refuse`, before the first check has ended, and as long as an address of
        its own leads to another node."""
        if self._values()[CHECK_KEY] != _WITHHOLDS_READINESS:
            return []
        if not self._own_are_probed:
            return ["the advertised addresses are not checked yet"]
        return [
            f"the advertised address {row.address} of listener {row.listener} leads to another node"
            f" ({row.code}): {row.text}"
            for row in self._wrong_own()
        ]

    def _wrong_own(self) -> list[AddressState]:
        own = self._prober.identity.node_id
        return [row for row in self.states if row.node_id == own and row.state is RouteState.WRONG]

    def _addresses(self) -> list[AdvertisedAddress]:
        return addresses_to_check(self._cache.image, self._prober.identity.node_id, self._without)

    def _image_changed(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        for changed in self._changed.values():  # whether an address has changed is found out beside the control request
            changed.set()

    async def _run(self, is_own: bool, schedule: ProbeSchedule) -> None:
        own = self._prober.identity.node_id
        while True:
            addresses: list[AdvertisedAddress] = []
            if self._values()[CHECK_KEY] != _OFF:
                addresses = [row for row in self._addresses() if (row.node_id == own) is is_own]
            elif self._observations or self._reports.states:
                self._observations.clear()
                self._reports.forget()
            schedule.follow(addresses, 0 if is_own else len(self._cache.image.brokers))
            interval_s = self._interval_s()
            may_probe = is_own or self._own_are_probed
            due = schedule.due(interval_s) if may_probe else []
            if due:
                await self._probe(due, schedule)
            else:
                seconds = schedule.seconds_to_next(interval_s) if may_probe else _LOOK_S
                await self._wait(self._changed[is_own], min(seconds, _LOOK_S))

    async def _probe(self, due: list[AdvertisedAddress], schedule: ProbeSchedule) -> None:
        """Probes these addresses. What was observed of an address that its broker does not have any more is nothing."""
        started, states = datetime.now(UTC), self._reports.states
        try:
            observed = await self._prober.observe(due, self._addresses())
            known = set(self._addresses())
            if known and self._values()[CHECK_KEY] != _OFF:
                together = {**self._observations, **observed}
                self._observations = {row: together[row] for row in together if row in known}
                states = states_of(examination_of(self._observations, self._prober.identity.cluster_id, started))
                self._reports.checked(states)
                self._note_own(due)
        except Exception:
            states = {}
            log.exception("Check of advertised addresses failed; it is retried at its next interval")
        for address in due:
            state = states.get((address.node_id, address.endpoint.listener_name))
            schedule.probed(address, verified=state is not None and state.state is RouteState.VERIFIED)

    def _note_own(self, probed: list[AdvertisedAddress]) -> None:
        """Peers are probed from the first probe of this broker's own addresses on."""
        if not self._own_are_probed and probed[0].node_id == self._prober.identity.node_id:
            self._own_are_probed = True
            self._changed[False].set()

    async def _wait(self, changed: asyncio.Event, seconds: float) -> None:
        """Until the metadata changes, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
                changed.clear()
                await asyncio.sleep(_SETTLE_S)
        except TimeoutError:
            return

    def _interval_s(self) -> float:
        interval_ms = self._values()[INTERVAL_KEY]
        assert isinstance(interval_ms, int)
        return interval_ms / 1000
