"""The check of advertised addresses (SPEC R9): at the start, after each change of an advertised address of any broker,
and at an interval (`signalbox.advertised.check.interval.ms`). An own address that leads to another node is checked
again every few seconds, so that a route that was mended is noticed soon.

It is a task of its own beside the requests: a few connections at a time, each with a timeout, none of them on the
control plane. There the controller's connections send the expected identity.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from signalbox.common.config.config_table import Value
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage
from signalbox.server.advertised.address_probes import AdvertisedAddress, Prober, addresses_to_check
from signalbox.server.advertised.address_reports import AddressReports
from signalbox.server.advertised.address_states import AddressState, RouteState, states_of

log = logging.getLogger(__name__)

CHECK_KEY = "signalbox.advertised.check"
INTERVAL_KEY = "signalbox.advertised.check.interval.ms"
_OFF, _WITHHOLDS_READINESS = "off", "refuse"
_SETTLE_S = 0.2  # brokers that start together change their addresses together
_SOON_S = 5.0
_MAX_WAIT_S = 86_400.0  # the event loop's clock cannot represent Kafka's "never" (2^63 ms)


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
        self._wake = asyncio.Event()
        self._checked: list[AdvertisedAddress] = []
        self._ended_once = False
        self._cancel: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Check in the background, from now on."""
        self._cancel = self._cache.subscribe(self._image_changed)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="check of advertised addresses")

    async def stop(self) -> None:
        """Also without a start."""
        if self._cancel is not None:
            self._cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

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
        if not self._ended_once:
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
        self._wake.set()  # whether an address has changed is found out beside the control request

    async def _run(self) -> None:
        while True:
            if self._values()[CHECK_KEY] == _OFF:
                self._reports.forget()
            else:
                await self._check(self._addresses())
            await self._wait(self._seconds_to_next())

    async def _check(self, addresses: list[AdvertisedAddress]) -> None:
        self._checked = addresses
        try:
            if addresses:
                self._reports.checked(states_of(await self._prober.observe(addresses)))
                self._ended_once = True
        except Exception:
            log.exception("Check of advertised addresses failed; it is retried at its next interval")

    async def _wait(self, seconds: float) -> None:
        """Until the next check is due, or addresses differ from those that were checked."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    await self._wake.wait()
                    await asyncio.sleep(_SETTLE_S)
                    self._wake.clear()
                    if self._addresses() not in ([], self._checked):
                        return
        except TimeoutError:
            return

    def _seconds_to_next(self) -> float:
        interval_ms = self._values()[INTERVAL_KEY]
        assert isinstance(interval_ms, int)
        is_soon = not self._ended_once or self._wrong_own() or self._values()[CHECK_KEY] == _OFF
        return min(interval_ms / 1000, _SOON_S if is_soon else _MAX_WAIT_S)
