"""What nodes of one cluster must agree on about the controller (F15): at least one node may become it, and brokers know
its listener.

A node without `process.roles` is a broker that may become the controller. Such nodes beside dedicated controllers are
correct only while a cluster is rolled from the one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from signalbox.common.config.config_table import ConfigFault
from signalbox.configuration.check.checked_broker import CheckedBroker
from signalbox.network.listeners.controller_listeners import CONTROLLER_NAMES, PROCESS_ROLES
from signalbox.network.listeners.listener_entry import PROTOCOL_MAP


def needs_controller(nodes: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Fault: no node may become the controller."""
    if not any(node.config.may_be_controller for node in nodes):
        problem = f"none of these {len(nodes)} nodes may become the controller"
        remedy = "Name the files of the dedicated controllers too, or add the role controller to some of these"
        yield nodes[0].fault(PROCESS_ROLES, nodes[0].config.originals[PROCESS_ROLES], problem, remedy)


def controllers_known(nodes: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Fault: a broker connects to the first controller listener of the active controller, with its own settings for
    that name."""
    for broker in (node for node in nodes if node.config.runs_broker and node.table.controller_listener_names):
        for controller in (node for node in nodes if node.config.has_controller_listener):
            name, listener_names = controller.table.controller_listener_names[0], broker.table.controller_listener_names
            protocol = controller.table.row(name).security_protocol
            if name not in listener_names:
                problem = f"{controller} is reached on {name}, which is not among them"
                yield broker.fault(
                    CONTROLLER_NAMES, ",".join(listener_names), problem, f"Add {name}, and {name} to {PROTOCOL_MAP}"
                )
            elif (here := broker.table.security_protocol_of(name)) is not protocol and name not in broker.table:
                entry = f"{name}:{'' if here is None else here.name}"
                problem = f"{name} is {protocol.name} in {controller}"
                yield broker.fault(PROTOCOL_MAP, entry, problem, "Set it alike: brokers dial the controllers with it")


def all_alike(nodes: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Note: nodes without `process.roles` take part in the controller election beside the dedicated controllers."""
    dedicated = next((node for node in nodes if node.config["process.roles"]), None)
    for node in nodes if dedicated is not None else ():
        if not node.config["process.roles"]:
            problem = f"is not set here, but in {dedicated}: this broker may become the controller as well"
            yield node.fault(
                PROCESS_ROLES, "", problem, "Right while the cluster is rolled; set it everywhere otherwise"
            )
