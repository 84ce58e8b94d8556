"""Which versions this broker offers: the route table's, narrowed for forwardable APIs to what the active controller
takes as well (F9), and to the few of C4 on a forced control plane. A controller's listener lists what it takes there
and what it takes inside an Envelope: brokers learn from it what they may offer to clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from signalbox.broker.routes import ROUTES
from signalbox.broker.version_ceilings import NO_CEILINGS, VersionCeilings
from signalbox.protocol.api_table import API_TABLE, ApiKey

Ranges = dict[int, tuple[int, int]]


class ControllerVersions(Protocol):
    """The active controller's ApiVersions table as the channel learnt it when it connected."""

    def controller_ranges(self) -> Mapping[int, tuple[int, int]] | None:
        """None while no controller is connected, or while it is this node."""
        ...


class AdvertisedVersions:
    """The ranges per plane; the same object as long as nothing has changed."""

    def __init__(
        self, controller: ControllerVersions, forced_control_plane: bool, ceilings: VersionCeilings = NO_CEILINGS
    ) -> None:
        self._controller = controller
        self._forced_control_plane = forced_control_plane
        self._seen: Mapping[int, tuple[int, int]] | None = None
        keys = [int(row.api_key) for row in ROUTES]
        keys += [int(ApiKey.SASL_HANDSHAKE), int(ApiKey.SASL_AUTHENTICATE)]
        self._own: Ranges = {
            key: (API_TABLE[key].advertised_min_version, ceilings.get(key, API_TABLE[key].max_version))
            for key in sorted(keys)
        }
        self._current = self._own
        self._control = {key: span for key, span in self._own.items() if API_TABLE[key].control_plane}
        self._of_controllers = {
            key: span for key, span in self._own.items() if API_TABLE[key].controller or API_TABLE[key].forwardable
        }

    def ranges(self, control_plane: bool, controller_plane: bool = False) -> Ranges:
        """API key → (lowest, highest) version, in key order."""
        if controller_plane:
            return self._of_controllers
        if control_plane and self._forced_control_plane:
            return self._control
        theirs = self._controller.controller_ranges()
        if theirs is not self._seen:
            self._seen = theirs
            self._current = self._own if theirs is None else self._intersected(theirs)
        return self._current

    def _intersected(self, theirs: Mapping[int, tuple[int, int]]) -> Ranges:
        ranges: Ranges = {}
        for key, (low, high) in self._own.items():
            if not API_TABLE[key].forwardable:
                ranges[key] = (low, high)
                continue
            their_low, their_high = theirs.get(key, (0, -1))
            low, high = max(low, their_low), min(high, their_high)
            if low <= high:
                ranges[key] = (low, high)
        return ranges
