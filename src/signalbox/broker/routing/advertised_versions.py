"""The API versions that this broker advertises. They are those of the route table. The ranges of forwardable APIs are
intersected with those of the active controller (F9). A forced control plane lists only the APIs of C4. Client listeners
do not list the APIs of brokers (PEER in the route table), which are always rejected there. A controller's listener
lists the APIs that it accepts directly or inside an Envelope: brokers read from it what they may advertise to
clients."""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import Enum

from signalbox.broker.authorization.authorization import on_internal_listener
from signalbox.broker.forwarding.version_ceilings import NO_CEILINGS, VersionCeilings
from signalbox.broker.routes import ROUTES, Disposition
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.security.request_context import RequestContext

Ranges = dict[int, tuple[int, int]]
_OF_PEERS = frozenset(row.api_key for row in ROUTES if row.disposition is Disposition.PEER)


class ListenerKind(Enum):
    """The kind of listener: the response depends on it besides versions and features."""

    CLIENTS = "clients"
    BROKERS = "brokers"
    FORCED_CONTROL_PLANE = "forced control plane"
    CONTROLLERS = "controllers"


class ControllerVersions:
    """The active controller's ApiVersions table, which the channel received when it connected (F9)."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel
        self._seen: object = None
        self._ranges: Mapping[int, tuple[int, int]] | None = None

    def controller_ranges(self) -> Mapping[int, tuple[int, int]] | None:
        """API key → (lowest, highest) version; None while no controller is connected. The same mapping object as long
        as the connection is the same."""
        ranges = self._channel.api_ranges
        if ranges is not self._seen:
            self._seen = ranges
            self._ranges = None
            if ranges is not None:
                self._ranges = {key: span for key in ranges if (span := ranges.range_of(key)) is not None}
        return self._ranges


class AdvertisedVersions:
    """The ranges per kind of listener; the same object as long as nothing has changed. `controller` is None on a node
    that forwards nothing: a dedicated controller, or a broker below the gate. `peer_listeners`: listeners that other
    brokers use besides this broker's internal listeners while listeners are changed in a rolling restart
    (`broker/authorization/cluster_action.py`)."""

    def __init__(
        self,
        controller: ControllerVersions | None,
        forced_control_plane: bool,
        ceilings: VersionCeilings = NO_CEILINGS,
        peer_listeners: Container[str] = (),
    ) -> None:
        self._controller = controller
        self._peer_listeners = peer_listeners
        self._forced_control_plane = forced_control_plane
        self._seen: Mapping[int, tuple[int, int]] | None = None
        keys = [int(row.api_key) for row in ROUTES]
        keys += [int(ApiKey.SASL_HANDSHAKE), int(ApiKey.SASL_AUTHENTICATE)]
        self._own: Ranges = {
            key: (API_TABLE[key].advertised_min_version, ceilings.get(key, API_TABLE[key].max_version))
            for key in sorted(keys)
        }
        self._local = self._current = _by_kind(self._own)
        self._control = {key: span for key, span in self._own.items() if API_TABLE[key].control_plane}
        self._of_controllers = {
            key: span for key, span in self._own.items() if API_TABLE[key].controller or API_TABLE[key].forwardable
        }

    def kind_of(self, context: RequestContext) -> ListenerKind:
        """The kind of the listener that accepted the connection."""
        if context.controller_plane:
            return ListenerKind.CONTROLLERS
        if context.control_plane and self._forced_control_plane:
            return ListenerKind.FORCED_CONTROL_PLANE
        if on_internal_listener(context) or context.listener_name in self._peer_listeners:
            return ListenerKind.BROKERS
        return ListenerKind.CLIENTS

    def ranges(self, kind: ListenerKind) -> Ranges:
        """API key → (lowest, highest) version, in key order."""
        if kind is ListenerKind.CONTROLLERS:
            return self._of_controllers
        if kind is ListenerKind.FORCED_CONTROL_PLANE:
            return self._control
        current_ranges = self._controller.controller_ranges() if self._controller is not None else None
        if current_ranges is not self._seen:
            self._seen = current_ranges
            self._current = self._local if current_ranges is None else _by_kind(self._intersected(current_ranges))
        return self._current[kind]

    def _intersected(self, current_ranges: Mapping[int, tuple[int, int]]) -> Ranges:
        ranges: Ranges = {}
        for key, (low, high) in self._own.items():
            if not API_TABLE[key].forwardable:
                ranges[key] = (low, high)
                continue
            their_low, their_high = current_ranges.get(key, (0, -1))
            low, high = max(low, their_low), min(high, their_high)
            if low <= high:
                ranges[key] = (low, high)
        return ranges


def _by_kind(ranges: Ranges) -> Mapping[ListenerKind, Ranges]:
    return {
        ListenerKind.BROKERS: ranges,
        ListenerKind.CLIENTS: {key: span for key, span in ranges.items() if key not in _OF_PEERS},
    }
