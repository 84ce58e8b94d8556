"""What this broker tells the cluster about itself: at its start, and again when its listeners change."""

from __future__ import annotations

from signalbox.metadata.feature_levels import SUPPORTED_FEATURES
from signalbox.metadata.registration import BrokerRegistration
from signalbox.network.listener_table import ListenerTable
from signalbox.wiring.configuration import NodeConfig


def own_registration(config: NodeConfig, table: ListenerTable, now_ms: int) -> BrokerRegistration:
    """`table` has the bound ports."""
    inter_broker, privileged = table.inter_broker_listener_name, table.privileged_listener_name
    return BrokerRegistration(
        broker_id=config.node_id,
        endpoints=table.advertised_endpoints(),
        rack=config["broker.rack"],
        timestamp_ms=now_ms,
        features=dict(SUPPORTED_FEATURES),
        inter_broker_listener=inter_broker,
        control_plane_listener=table.control_plane_listener_name,
        privileged_listener=None if privileged == inter_broker else privileged,
    )
