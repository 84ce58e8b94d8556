"""A node's configuration: the config rows of all packages in one table, read from server.properties, all faults at
once.

Unknown keys give a warning, as in Kafka. Wrong values, wrong combinations and missing keys are collected, each with its
line, and the start is rejected with all of them together (L1-L4, C1).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from signalbox.broker.config_rows import BROKER_CONFIG
from signalbox.common.config.config_table import ConfigFault, ConfigTable, Value
from signalbox.common.config.properties_file import Properties
from signalbox.common.inter_broker_protocol import FORWARDING_FROM, INTER_BROKER_PROTOCOL_KEY, forwards
from signalbox.configuration.check.config_warnings import config_warnings
from signalbox.configuration.check.metrics_port import check_metrics_port
from signalbox.configuration.metadata_store import check_store
from signalbox.controller.config_rows import CONTROLLER_CONFIG
from signalbox.coordinator.config_rows import COORDINATOR_CONFIG
from signalbox.metadata.config_rows import METADATA_CONFIG
from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.network.listeners.listener_entry import DEFAULT_LISTENERS, LISTENERS, names_of_entries
from signalbox.network.listeners.listener_table import ListenerTable, read_listener_table, readable_listeners
from signalbox.network.listeners.network_settings import read_network_settings
from signalbox.replication.config_rows import REPLICATION_CONFIG
from signalbox.storage.config_rows import STORAGE_CONFIG

NODE_CONFIG = ConfigTable(
    [
        *BROKER_CONFIG,
        *METADATA_CONFIG,
        *CONTROLLER_CONFIG,
        *NETWORK_CONFIG,
        *STORAGE_CONFIG,
        *REPLICATION_CONFIG,
        *COORDINATOR_CONFIG,
    ]
)


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A configuration that has passed every check. `originals` is the text as the user wrote it."""

    originals: Mapping[str, str]
    values: Mapping[str, Value]
    listeners: ListenerTable
    warnings: tuple[str, ...]

    def __getitem__(self, key: str) -> Any:
        """The typed value of a key of the table; the caller knows its row's type."""
        return self.values[key]

    @property
    def node_id(self) -> int:
        return int(self["node.id"] if self["node.id"] >= 0 else self["broker.id"])

    @property
    def runs_broker(self) -> bool:
        """Whether this node hosts partitions and serves clients."""
        return not self["process.roles"] or "broker" in self["process.roles"]

    @property
    def may_be_controller(self) -> bool:
        """Whether this node takes part in the controller election."""
        return not self["process.roles"] or "controller" in self["process.roles"]

    @property
    def has_controller_listener(self) -> bool:
        """Whether this node has a listener for controllers, to which brokers connect (F15)."""
        return "controller" in self["process.roles"]


def read_node_config(properties: Properties) -> tuple[NodeConfig | None, list[ConfigFault]]:
    """Returns the configuration, or None and all its faults."""
    originals = dict(properties.values)
    values, faults = NODE_CONFIG.read(originals)
    if not {"node.id", "broker.id"} & {fault.key for fault in faults}:
        faults += _check_identity(values)
    if "broker" in (values["process.roles"] or ["broker"]):  # type: ignore[operator]
        faults += _check_log_dirs(originals, values)
    faults += _check_gate(values)
    faults += check_store(values)
    listeners, listener_faults = read_listener_table(originals)
    names = (
        [row.name for row in listeners]
        if listeners is not None
        else names_of_entries(originals.get(LISTENERS, DEFAULT_LISTENERS))
    )
    _, network_faults = read_network_settings(originals, listeners.settings_names if listeners is not None else names)
    # The network package reads its own rows again: faults that the whole table has already reported are not repeated.
    reported = {(fault.key, fault.entry) for fault in faults}
    network_faults = [*listener_faults, *network_faults]
    faults += [fault for fault in network_faults if (fault.key, fault.entry) not in reported]
    faults += check_metrics_port(values, readable_listeners(originals))
    if faults or listeners is None:
        return None, [replace(fault, origin=properties.where(fault.key)) for fault in faults]
    return NodeConfig(originals, values, listeners, config_warnings(properties, listeners, NODE_CONFIG)), []


def _check_identity(values: Mapping[str, Value]) -> list[ConfigFault]:
    broker_id, node_id = values["broker.id"], values["node.id"]
    assert isinstance(broker_id, int)
    assert isinstance(node_id, int)
    if broker_id >= 0 and node_id >= 0 and broker_id != node_id:
        return [
            ConfigFault(
                "node.id", str(node_id), f"differs from broker.id={broker_id}", "Set both to the same id, or only one"
            )
        ]
    if max(broker_id, node_id) < 0:
        return [ConfigFault("node.id", "", "is missing", "Give every node an id of its own, 0 or more")]
    return []


def _check_gate(values: Mapping[str, Value]) -> list[ConfigFault]:
    """Dedicated controllers are known only to brokers: clients could not find them, but below the gate they must."""
    if not values["process.roles"] or forwards(values):
        return []
    problem = f"is below {FORWARDING_FROM}, and dedicated controllers are reached by forwarding alone"
    remedy = f"Leave it out, or set {FORWARDING_FROM} or above, before process.roles is set"
    return [ConfigFault(INTER_BROKER_PROTOCOL_KEY, str(values[INTER_BROKER_PROTOCOL_KEY]), problem, remedy)]


def _check_log_dirs(originals: Mapping[str, str], values: Mapping[str, Value]) -> list[ConfigFault]:
    """An empty value does not mean the default, and two entries for one folder would fail on each other's lock."""
    key = "log.dirs" if "log.dirs" in originals else "log.dir"
    entries = values[key]
    folders = entries if isinstance(entries, list) else [str(entries).strip()]
    if not any(folders):
        return [ConfigFault(key, "", "is empty", "Name a folder for the partition logs, or leave the key out")]
    paths = [os.path.abspath(folder) for folder in folders]
    return [
        ConfigFault(key, folder, "is listed twice", "Name each folder once")
        for index, (folder, path) in enumerate(zip(folders, paths, strict=True))
        if path in paths[:index]
    ]
