"""Checks a node's configuration against every rule that needs no running broker, and returns all faults at once.

`read_node_config` checks the text; keys, certificates, login modules and the authorizer's class need files. Nothing is
bound, created or written. `signalbox start` runs this check first, `signalbox check` runs only this check.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.properties_file import Properties
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig, read_node_config
from signalbox.configuration.security_config import security_faults


def check_node_config(properties: Properties) -> tuple[NodeConfig | None, list[ConfigFault]]:
    """Returns the configuration, or None and all its faults, each with file and line."""
    config, faults = read_node_config(properties)
    values, _ = NODE_CONFIG.read(properties.values)
    for fault in security_faults(properties.values, values):
        placed = replace(fault, origin=properties.where(fault.key))
        if placed not in faults:
            faults.append(placed)
    return (None if faults else config), faults
