"""Both sides of the gate of the roll-out (SPEC F17): the components of a broker that forwards, and of one that does
not. Also those of an earlier gate, below which leaders write their ISR to the store themselves (KIP-497)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from signalbox.broker.forwarding.local_admin_handler import DirectTopicWriter, DirectWriter
from signalbox.broker.ports import ActiveController
from signalbox.common.inter_broker_protocol import (
    INTER_BROKER_PROTOCOL_KEY,
    InterBrokerProtocol,
    read_inter_broker_protocol,
)
from signalbox.configuration.configuration import NodeConfig
from signalbox.controller.direct_writes.direct_metadata_writer import DIRECT_CHANGES, DirectMetadataWriter, Patience
from signalbox.protocol.api_table import ApiKey
from signalbox.replication.isr.isr_announcements import IsrAnnouncements
from signalbox.replication.isr.stored_isr import StoredIsr
from signalbox.wiring.controller_components import controller_inputs
from signalbox.wiring.node_context import NodeContext

_RETRY_S = 0.1  # for a change that the store did not accept


@dataclass(frozen=True, slots=True)
class RollingUpgrade:
    """`changes` executes the changes that clients request, `creation` creates the topics that this broker needs."""

    forwards: bool
    changes: ActiveController
    creation: ActiveController


def inter_broker_protocol(config: NodeConfig) -> InterBrokerProtocol:
    """The inter-broker protocol of this broker."""
    return read_inter_broker_protocol(config[INTER_BROKER_PROTOCOL_KEY])


def build_rolling_upgrade(context: NodeContext, controller: ActiveController) -> RollingUpgrade:
    """From the gate on the controller executes changes; below it this broker makes direct metadata writes."""
    config = context.config
    if inter_broker_protocol(config).forwards:
        return RollingUpgrade(True, controller, controller)
    patience = Patience(context.clock, config["request.timeout.ms"], lambda: asyncio.sleep(_RETRY_S))
    inputs = controller_inputs(context)
    own = DirectMetadataWriter(config.node_id, context.store, inputs, context.cache, patience)
    for_clients = frozenset(key for key, row in DIRECT_CHANGES.items() if row.for_clients)
    return RollingUpgrade(
        False, DirectWriter(controller, own, for_clients), DirectTopicWriter(controller, own, {ApiKey.CREATE_TOPICS})
    )


def build_stored_isr(context: NodeContext) -> StoredIsr | None:
    """Returns the writer with which leaders change their ISR below 2.7; None from there on: they send
    AlterPartition."""
    if inter_broker_protocol(context.config).alters_partitions:
        return None
    return StoredIsr(context.store, IsrAnnouncements(context.store, context.clock))
