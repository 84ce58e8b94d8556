"""A node's configuration held against every rule that needs no running broker, all faults at once.

`read_node_config` looks at the text; keys, certificates, login modules and the authorizer's class need files. Nothing
is bound, made or written: `signalbox start` asks here first, `signalbox check` asks nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.config_table import ConfigFault
from signalbox.common.properties_file import Properties
from signalbox.wiring.configuration import NODE_CONFIG, NodeConfig, read_node_config
from signalbox.wiring.guards import guard_faults


def check_node_config(properties: Properties) -> tuple[NodeConfig | None, list[ConfigFault]]:
    """The configuration, or None and everything that is wrong with it, each fault with the place it comes from."""
    config, faults = read_node_config(properties)
    values, _ = NODE_CONFIG.read(properties.values)
    for fault in guard_faults(properties.values, values):
        placed = replace(fault, origin=properties.where(fault.key))
        if placed not in faults:
            faults.append(placed)
    return (None if faults else config), faults
