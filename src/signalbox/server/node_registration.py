"""This node's registration: a broker registers at its start, and again when its listeners change; a dedicated
controller registers at its start, under a path of its own (decision 0020)."""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.entries.feature_levels import SUPPORTED_FEATURES
from signalbox.metadata.entries.registration import BrokerRegistration, RegisteredLogDir
from signalbox.network.listeners.listener_table import ListenerTable
from signalbox.storage.directories.log_directory import LogDirectory


def broker_registration(
    config: NodeConfig, table: ListenerTable, now_ms: int, directories: Iterable[LogDirectory] = ()
) -> BrokerRegistration:
    """`table` has the bound ports; `directories` are those of log.dirs; the working ones are registered."""
    inter_broker, privileged = table.inter_broker_listener_name, table.privileged_listener_name
    is_registered = privileged != inter_broker and privileged not in table.controller_listener_names
    return BrokerRegistration(
        broker_id=config.node_id,
        endpoints=table.advertised_endpoints(),
        rack=config["broker.rack"],
        timestamp_ms=now_ms,
        features=dict(SUPPORTED_FEATURES),
        inter_broker_listener=inter_broker,
        control_plane_listener=table.control_plane_listener_name,
        privileged_listener=privileged if is_registered else None,
        log_dirs=tuple(
            RegisteredLogDir(directory.directory_id, directory.previous_broker_epoch)
            for directory in directories
            if directory.online
        ),
    )


def controller_registration(config: NodeConfig, table: ListenerTable, now_ms: int) -> BrokerRegistration:
    """The registration of a dedicated controller: its listeners; brokers connect to the first. Clients never see
    them."""
    return BrokerRegistration(
        broker_id=config.node_id,
        endpoints=table.controller_endpoints(),
        timestamp_ms=now_ms,
        features=dict(SUPPORTED_FEATURES),
        privileged_listener=table.controller_listener_names[0],
    )
