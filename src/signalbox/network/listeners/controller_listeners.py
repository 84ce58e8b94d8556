"""Listeners of dedicated controllers: `process.roles` and `controller.listener.names`, by Kafka's rules (F15), but
compared in upper case like all names."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol, normalize_listener_name
from signalbox.network.listeners.listener_entry import (
    CONTROL_PLANE_NAME,
    LISTENERS,
    PROTOCOL_MAP,
    is_faulty_pair,
    split_list,
)

CONTROLLER_NAMES = "controller.listener.names"
PROCESS_ROLES = "process.roles"


def read_process_roles(config: Mapping[str, str], faults: list[ConfigFault]) -> set[str]:
    """The roles of this node; the empty set is a broker that may become the controller."""
    text = config.get(PROCESS_ROLES, "")
    roles = split_list(text)
    if set(roles) - {"broker", "controller"} or len(set(roles)) < len(roles):
        faults.append(
            ConfigFault(PROCESS_ROLES, text, "is not a set of roles", "Use broker, controller, or both, each once")
        )
    return set(roles)


def read_controller_names(
    config: Mapping[str, str],
    process_roles: set[str],
    names: set[str],
    protocols: dict[str, SecurityProtocol],
    faults: list[ConfigFault],
) -> tuple[str, ...]:
    """The controllers' listeners in upper case, in their order. `names` are the names in `listeners`."""
    text = config.get(CONTROLLER_NAMES, "")
    controllers = tuple(normalize_listener_name(name) for name in split_list(text))

    def fault(problem: str, remedy: str) -> None:
        faults.append(ConfigFault(CONTROLLER_NAMES, text, problem, remedy))

    if not process_roles:
        if controllers:
            fault("there are no dedicated controllers", f"Remove it, or set {PROCESS_ROLES}")
        return ()
    if not controllers:
        fault("names no listener", "Name the listener that brokers reach the controllers on")
        return ()
    for name in controllers:
        if name not in protocols and not is_faulty_pair(config, name):
            fault(f"the listener {name} is not found in {PROTOCOL_MAP}", f"Add {name}:PLAINTEXT to the map")
        if "controller" in process_roles and name not in names:
            fault(f"a controller must bind {name}", f"Add {name}://host:port to {LISTENERS}")
        if process_roles == {"broker"} and name in names:
            fault(f"a broker does not bind {name}", f"Remove {name} from {LISTENERS}")
    if process_roles == {"controller"}:
        if names - set(controllers):
            others = ", ".join(sorted(names - set(controllers)))
            fault(
                f"a controller binds nothing but controller listeners, not {others}",
                f"Move them to brokers, or set {PROCESS_ROLES} to broker,controller",
            )
        if config.get(CONTROL_PLANE_NAME, "").strip():
            faults.append(
                ConfigFault(
                    CONTROL_PLANE_NAME,
                    config[CONTROL_PLANE_NAME],
                    "a dedicated controller has no control plane of its own",
                    f"Remove it here: brokers name it, controllers have {CONTROLLER_NAMES}",
                )
            )
    return controllers
