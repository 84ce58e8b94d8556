"""Both sides of the gate of the roll-out (SPEC F17): the components of a broker that forwards, and of one that makes
direct metadata writes (`controller/direct_writes/`)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random

from signalbox.broker.forwarding.forwarding import LocalAdminRequests
from signalbox.broker.ports import ActiveController
from signalbox.broker.routing.exposed_nodes import AdvertisedController, ExposedController
from signalbox.common.inter_broker_protocol import (
    INTER_BROKER_PROTOCOL_KEY,
    InterBrokerProtocol,
    read_inter_broker_protocol,
)
from signalbox.configuration.configuration import NodeConfig
from signalbox.controller.direct_writes.broker_below_gate import DirectTopicWriter, DirectWriter, RealController
from signalbox.controller.direct_writes.direct_changes import DIRECT_CHANGES
from signalbox.controller.direct_writes.direct_metadata_writer import DirectMetadataWriter, Patience
from signalbox.protocol.api_table import ApiKey
from signalbox.wiring.controller_components import controller_inputs
from signalbox.wiring.node_context import NodeContext

_RETRY_S = 0.1  # for a change that the store did not accept


@dataclass(frozen=True, slots=True)
class RollingUpgrade:
    """`changes` executes the changes that clients request, `creation` creates the topics that this broker needs,
    `exposed` is the controller that clients see. `local_requests` takes the place of the forwarder below the gate; None
    if this broker forwards."""

    changes: ActiveController
    creation: ActiveController
    exposed: AdvertisedController
    local_requests: LocalAdminRequests | None = None

    @property
    def forwards(self) -> bool:
        """Whether this broker forwards changes to the active controller."""
        return self.local_requests is None


def inter_broker_protocol(config: NodeConfig) -> InterBrokerProtocol:
    """The inter-broker protocol of this broker."""
    return read_inter_broker_protocol(config[INTER_BROKER_PROTOCOL_KEY])


def build_rolling_upgrade(context: NodeContext, controller: ActiveController) -> RollingUpgrade:
    """From the gate on the controller executes changes; below it this broker makes direct metadata writes."""
    config, cache = context.config, context.cache
    if inter_broker_protocol(config).forwards:
        return RollingUpgrade(controller, controller, ExposedController(cache, Random()))
    patience = Patience(context.clock, config["request.timeout.ms"], lambda: asyncio.sleep(_RETRY_S))
    own = DirectMetadataWriter(config.node_id, context.store, controller_inputs(context), cache, patience)
    for_clients = frozenset(key for key, row in DIRECT_CHANGES.items() if row.for_clients)
    return RollingUpgrade(
        DirectWriter(controller, own.handle, for_clients),
        DirectTopicWriter(controller, own.handle, {ApiKey.CREATE_TOPICS}),
        RealController(cache),
        LocalAdminRequests(),
    )
