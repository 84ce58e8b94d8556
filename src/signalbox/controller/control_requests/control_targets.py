"""The endpoint to which each broker's control requests are sent, and the channels to these endpoints (SPEC C2).

The target's own registration decides: its control-plane listener if it names one, else its inter-broker listener.
A broker without that listener is logged and skipped; it must not stop the controller.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from signalbox.common.endpoint import Endpoint
from signalbox.controller.context import LiveBroker
from signalbox.controller.ports import BrokerChannels

log = logging.getLogger(__name__)


class ControlTargets:
    """Keeps one channel per live broker; a broker that restarted or changed its endpoint gets a new one."""

    def __init__(self, channels: BrokerChannels, inter_broker_listener: str) -> None:
        self._channels = channels
        self._inter_broker_listener = inter_broker_listener
        self._open: dict[int, tuple[int, Endpoint]] = {}
        self._reported: set[tuple[int, int]] = set()

    def follow(self, brokers: Mapping[int, LiveBroker]) -> None:
        """Open and close channels so that they match `brokers`."""
        wanted: dict[int, tuple[int, Endpoint]] = {}
        for broker_id, broker in brokers.items():
            endpoint = broker.registration.control_endpoint(self._inter_broker_listener)
            if endpoint is None:
                self._report(broker_id, broker)
            else:
                wanted[broker_id] = (broker.broker_epoch, endpoint)
        for broker_id in [each for each, place in self._open.items() if wanted.get(each) != place]:
            self._channels.remove_broker(broker_id)
            del self._open[broker_id]
        for broker_id, place in wanted.items():
            if broker_id not in self._open:
                self._open[broker_id] = place
                self._channels.add_broker(broker_id, place[1])

    def reaches(self, broker_id: int) -> bool:
        """Whether there is a channel to this broker."""
        return broker_id in self._open

    def close(self) -> None:
        """Close all channels."""
        self.follow({})
        self._reported.clear()

    def _report(self, broker_id: int, broker: LiveBroker) -> None:
        if (broker_id, broker.broker_epoch) in self._reported:
            return
        self._reported.add((broker_id, broker.broker_epoch))
        registration = broker.registration
        listener = (
            registration.control_plane_listener or registration.inter_broker_listener or self._inter_broker_listener
        )
        log.error(
            "Broker %d has no listener %s (listeners: %s): it gets no control requests until it registers with one",
            broker_id,
            listener,
            ", ".join(str(endpoint) for endpoint in broker.registration.endpoints),
        )
