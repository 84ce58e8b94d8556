"""This broker's two channels to the active controller: one to the privileged listener for Envelopes and similar
requests, one to the control plane for ControlledShutdown (SPEC C, Resolved). The target's registration names these
listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.endpoint import Endpoint
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.server.controller_lookup import StoredControllerLookup
from signalbox.wiring.node_context import NodeContext


@dataclass(frozen=True, slots=True)
class ControllerChannels:
    lookup: StoredControllerLookup
    channel: ControllerChannel
    shutdown_lookup: StoredControllerLookup
    shutdown_channel: ControllerChannel

    def start(self) -> None:
        """Look the controller up and connect to it, so that its versions are known before the first request."""
        self.lookup.start()
        self.channel.start()
        self.shutdown_lookup.start()

    async def stop(self) -> None:
        await self.lookup.stop()
        await self.shutdown_lookup.stop()
        await self.channel.close()
        await self.shutdown_channel.close()


def build_controller_channels(context: NodeContext, on_unreachable: Callable[[int], None]) -> ControllerChannels:
    """Returns both channels, not yet started. `on_unreachable` is called with the id of a controller that was connected
    and cannot be reached any more."""
    store, security, cluster_id = context.store, context.security, context.cluster_id
    own = context.config.listeners.inter_broker_listener_name
    lookup = StoredControllerLookup(
        store, lambda registration: registration.privileged_endpoint(own), security.peers.of
    )
    channel = ControllerChannel(lookup, cluster_id, security.inter_broker, on_unreachable)
    lookup.on_change = channel.controller_changed
    channel.expose(context.metrics, "forwarding")
    shutdown_lookup = StoredControllerLookup(
        store, lambda registration: _shutdown_endpoint(registration, own), security.peers.of
    )
    shutdown_channel = ControllerChannel(shutdown_lookup, cluster_id, security.inter_broker)
    shutdown_lookup.on_change = shutdown_channel.controller_changed
    return ControllerChannels(lookup, channel, shutdown_lookup, shutdown_channel)


def _shutdown_endpoint(registration: BrokerRegistration, inter_broker_listener: str) -> Endpoint | None:
    """ControlledShutdown uses the control plane if there is one, even if it is forced (C3)."""
    if registration.control_plane_listener is not None:
        return registration.endpoint(registration.control_plane_listener)
    return registration.privileged_endpoint(inter_broker_listener)
