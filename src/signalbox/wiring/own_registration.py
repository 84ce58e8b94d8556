"""What this node tells the cluster about itself: a broker at its start, and again when its listeners change; a
dedicated controller at its start, at a place of its own (decision 0020)."""

from __future__ import annotations

from signalbox.metadata.feature_levels import SUPPORTED_FEATURES
from signalbox.metadata.registration import BrokerRegistration
from signalbox.network.listener_table import ListenerTable
from signalbox.wiring.configuration import NodeConfig


def own_registration(config: NodeConfig, table: ListenerTable, now_ms: int) -> BrokerRegistration:
    """`table` has the bound ports."""
    inter_broker, privileged = table.inter_broker_listener_name, table.privileged_listener_name
    told_here = privileged != inter_broker and privileged not in table.controller_listener_names
    return BrokerRegistration(
        broker_id=config.node_id,
        endpoints=table.advertised_endpoints(),
        rack=config["broker.rack"],
        timestamp_ms=now_ms,
        features=dict(SUPPORTED_FEATURES),
        inter_broker_listener=inter_broker,
        control_plane_listener=table.control_plane_listener_name,
        privileged_listener=privileged if told_here else None,
    )


def own_controller_registration(config: NodeConfig, table: ListenerTable, now_ms: int) -> BrokerRegistration:
    """The same of a dedicated controller: its listeners, of which brokers dial the first. Clients never see them."""
    return BrokerRegistration(
        broker_id=config.node_id,
        endpoints=table.controller_endpoints(),
        timestamp_ms=now_ms,
        features=dict(SUPPORTED_FEATURES),
        privileged_listener=table.controller_listener_names[0],
    )
