"""The roles of listeners: inter-broker, control plane, controller, privileged (L4, C1, "Resolved").

The privileged listener of a node:
| control plane | forced | dedicated controllers | privileged |
|---|---|---|---|
| none | - | no | inter-broker |
| named | no | no | control plane (as in Kafka) |
| named | yes | no | inter-broker, since the forced plane accepts only the four controller requests |
| any | any | this node is one | the first controller listener, for everything |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol, normalize_listener_name
from signalbox.network.listeners.controller_listeners import (
    CONTROLLER_NAMES,
    read_controller_names,
    read_process_roles,
)
from signalbox.network.listeners.listener_entry import (
    ADVERTISED_LISTENERS,
    CONTROL_PLANE_NAME,
    LISTENERS,
    PROTOCOL_MAP,
    is_faulty_pair,
)

INTER_BROKER_NAME = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL = "security.inter.broker.protocol"
CONTROL_PLANE_FORCED = "control.plane.force.controller.requests.enable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerRoles:
    """Names in upper case. `protocols` is the complete protocol map."""

    protocols: Mapping[str, SecurityProtocol]
    inter_broker_listener_name: str
    inter_broker_security_protocol: SecurityProtocol
    control_plane_listener_name: str | None
    controller_listener_names: tuple[str, ...]
    privileged_listener_name: str
    forced: bool


def read_roles(
    config: Mapping[str, str],
    protocols: dict[str, SecurityProtocol],
    names: set[str],
    advertised_names: set[str],
    faults: list[ConfigFault],
) -> ListenerRoles | None:
    """The configured roles, or None after adding their faults. `names` and `advertised_names` are the names in the two
    lists, those of invalid entries included."""
    before = len(faults)
    process_roles = read_process_roles(config, faults)
    controllers = read_controller_names(config, process_roles, names, protocols, faults)
    inter_broker = read_inter_broker(config, protocols, faults)
    if process_roles != {"controller"} and inter_broker is not None:
        _check_broker_listeners(config, inter_broker[0], advertised_names, controllers, faults)
    control = _control_plane(config, inter_broker and inter_broker[0], advertised_names, protocols, faults)
    forced = _boolean(config, CONTROL_PLANE_FORCED, faults)
    if len(faults) > before or inter_broker is None:
        return None
    privileged = inter_broker[0]
    if "controller" in process_roles:
        privileged = controllers[0]
    elif control is not None and not forced:
        privileged = control
    return ListenerRoles(
        protocols=dict(protocols),
        inter_broker_listener_name=inter_broker[0],
        inter_broker_security_protocol=inter_broker[1],
        control_plane_listener_name=control,
        controller_listener_names=controllers,
        privileged_listener_name=privileged,
        forced=forced and control is not None,
    )


def read_inter_broker(
    config: Mapping[str, str], protocols: dict[str, SecurityProtocol], faults: list[ConfigFault]
) -> tuple[str, SecurityProtocol] | None:
    """Name and protocol of the inter-broker listener; None with a new fault, or if its pair in the map is invalid."""
    name_text, protocol_text = config.get(INTER_BROKER_NAME), config.get(INTER_BROKER_PROTOCOL)
    if name_text is not None and protocol_text is not None:
        faults.append(
            ConfigFault(
                INTER_BROKER_NAME,
                name_text,
                f"{INTER_BROKER_PROTOCOL} is set as well",
                "Set only one of the two: the listener name says more",
            )
        )
        return None
    if name_text is not None:
        name = normalize_listener_name(name_text)
        if not name:
            faults.append(
                ConfigFault(INTER_BROKER_NAME, name_text, "names no listener", "Name one, or leave the key out")
            )
            return None
        if name not in protocols:
            if is_faulty_pair(config, name):
                return None
            faults.append(
                ConfigFault(
                    INTER_BROKER_NAME,
                    name_text,
                    f"the listener {name} is not found in {PROTOCOL_MAP}",
                    f"Name one of {', '.join(protocols) or 'the listeners'}, or add {name}:PLAINTEXT to the map",
                )
            )
            return None
        return name, protocols[name]
    text = protocol_text or SecurityProtocol.PLAINTEXT.name
    protocol = SecurityProtocol.__members__.get(text.strip().upper())
    if protocol is None:
        faults.append(
            ConfigFault(
                INTER_BROKER_PROTOCOL,
                text,
                "is no security protocol",
                f"Use one of {', '.join(SecurityProtocol.__members__)}",
            )
        )
        return None
    return protocol.name, protocol


def _check_broker_listeners(
    config: Mapping[str, str],
    inter_broker: str,
    advertised_names: set[str],
    controllers: tuple[str, ...],
    faults: list[ConfigFault],
) -> None:
    for_brokers = advertised_names - set(controllers)
    if not for_brokers:
        faults.append(
            ConfigFault(
                ADVERTISED_LISTENERS,
                ",".join(sorted(advertised_names)),
                "no listener is left for clients and brokers",
                f"Advertise at least one listener that is not in {CONTROLLER_NAMES}",
            )
        )
    elif inter_broker not in for_brokers:
        key = INTER_BROKER_PROTOCOL if INTER_BROKER_PROTOCOL in config else INTER_BROKER_NAME
        faults.append(
            ConfigFault(
                key,
                config.get(key, ""),
                f"the inter-broker listener {inter_broker} is not advertised",
                f"Set {INTER_BROKER_NAME} to one of {', '.join(sorted(for_brokers))}, or advertise {inter_broker}",
            )
        )


def _control_plane(
    config: Mapping[str, str],
    inter_broker: str | None,
    advertised_names: set[str],
    protocols: dict[str, SecurityProtocol],
    faults: list[ConfigFault],
) -> str | None:
    text = config.get(CONTROL_PLANE_NAME, "")
    if not text.strip():
        return None
    name = normalize_listener_name(text)
    unmapped = name not in protocols and not is_faulty_pair(config, name)
    problems = (
        (unmapped, f"the listener {name} is not found in {PROTOCOL_MAP}", f"Add {name}:PLAINTEXT to it"),
        (
            name not in advertised_names,
            f"the listener {name} is not in {LISTENERS} and {ADVERTISED_LISTENERS}",
            f"Add {name}://host:port to both",
        ),
        (
            name == inter_broker,
            "the control plane cannot be the inter-broker listener",
            f"Give it a listener of its own, or set {INTER_BROKER_NAME} to another one",
        ),
    )
    for is_violated, problem, remedy in problems:
        if is_violated:
            faults.append(ConfigFault(CONTROL_PLANE_NAME, text, problem, remedy))
    return name


def _boolean(config: Mapping[str, str], key: str, faults: list[ConfigFault]) -> bool:
    text = config.get(key, "false").strip().lower()
    if text not in ("true", "false"):
        faults.append(ConfigFault(key, config[key], "is neither true nor false", "Use true or false"))
    return text == "true"
