"""Both sides of the gate of the roll-out (SPEC F17): the components of a broker that forwards, and of one that does
not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.broker.forwarding.local_admin_handler import DirectTopicWriter, DirectWriter
from signalbox.broker.ports import ActiveController
from signalbox.common.clock import Clock
from signalbox.common.inter_broker_protocol import (
    INTER_BROKER_PROTOCOL_KEY,
    InterBrokerProtocol,
    read_inter_broker_protocol,
)
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.policies import Policies
from signalbox.controller.direct_writes.direct_metadata_writer import DIRECT_CHANGES, DirectMetadataWriter, Patience
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.port import MetadataStore
from signalbox.protocol.api_table import ApiKey
from signalbox.wiring.controller_components import controller_inputs

_RETRY_S = 0.1  # for a change that the store did not accept


@dataclass(frozen=True, slots=True)
class RollingUpgrade:
    """`changes` executes the changes that clients request, `creation` creates the topics that this broker needs."""

    forwards: bool
    changes: ActiveController
    creation: ActiveController


class NotIntersected:
    """Implements `broker/routing/advertised_versions.ControllerVersions` for a broker that forwards nothing."""

    def controller_ranges(self) -> Mapping[int, tuple[int, int]] | None:
        return None


def inter_broker_protocol(config: NodeConfig) -> InterBrokerProtocol:
    """The inter-broker protocol of this broker."""
    return read_inter_broker_protocol(config[INTER_BROKER_PROTOCOL_KEY])


def build_rolling_upgrade(
    config: NodeConfig,
    store: MetadataStore,
    controller: ActiveController,
    cache: MetadataCache,
    policies: Policies,
    clock: Clock,
) -> RollingUpgrade:
    """From the gate on the controller executes changes; below it this broker makes direct metadata writes."""
    if inter_broker_protocol(config).forwards:
        return RollingUpgrade(True, controller, controller)
    patience = Patience(clock, config["request.timeout.ms"], lambda: asyncio.sleep(_RETRY_S))
    own = DirectMetadataWriter(config.node_id, store, controller_inputs(config, policies, clock), cache, patience)
    for_clients = frozenset(key for key, row in DIRECT_CHANGES.items() if row.for_clients)
    return RollingUpgrade(
        False, DirectWriter(controller, own, for_clients), DirectTopicWriter(controller, own, {ApiKey.CREATE_TOPICS})
    )
