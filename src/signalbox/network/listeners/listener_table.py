"""The listener table: bind address, advertised address, protocol, plane and roles of each named listener.

Built once from the configuration; all faults are found at the same time (KIP-103, KIP-291, SPEC L1-L4, C1 and
"Resolved"). It is the only source of facts about listeners: the registration reads the advertised endpoints, senders
read the inter-broker and control plane names, handlers read whether a listener is privileged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import Endpoint, SecurityProtocol, normalize_listener_name
from signalbox.network.listeners.controller_listeners import CONTROLLER_NAMES, read_process_roles
from signalbox.network.listeners.listener_entry import (
    ADVERTISED_LISTENERS,
    CONTROL_PLANE_NAME,
    DEFAULT_LISTENERS,
    DEFAULT_PROTOCOL_MAP,
    LISTENERS,
    PROTOCOL_MAP,
    ListenerEntry,
    names_of_entries,
    names_of_pairs,
    parse_entries,
    parse_protocol_map,
    split_list,
)
from signalbox.network.listeners.listener_roles import (
    ListenerRoles,
    read_inter_broker,
    read_roles,
)
from signalbox.network.listeners.listener_rules import (
    check_advertised,
    check_distinct_names,
    check_distinct_ports,
    check_mapped,
)
from signalbox.network.plane import CONTROL, CONTROLLER, DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerRow:
    """One listener. `advertised` is None if the listener is not advertised; a port configured as 0 is 0 until it is
    bound. `privileged`: it accepts broker-to-broker requests. `forced`: it accepts only controller requests (C4).
    `inter_broker`: brokers authenticate on it."""

    name: str
    host: str
    port: int
    security_protocol: SecurityProtocol
    advertised: Endpoint | None
    plane: str = DATA
    privileged: bool = False
    forced: bool = False
    inter_broker: bool = False


class ListenerTable:
    """The rows by name. Names are in upper case; a lookup works in any case."""

    def __init__(self, rows: Iterable[ListenerRow], roles: ListenerRoles) -> None:
        self._rows = {row.name: row for row in rows}
        self._roles = roles

    def __iter__(self) -> Iterator[ListenerRow]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and normalize_listener_name(name) in self._rows

    def row(self, name: str) -> ListenerRow:
        """The row of a listener; KeyError when there is no such listener."""
        return self._rows[normalize_listener_name(name)]

    @property
    def inter_broker_listener_name(self) -> str:
        return self._roles.inter_broker_listener_name

    @property
    def inter_broker_security_protocol(self) -> SecurityProtocol:
        return self._roles.inter_broker_security_protocol

    @property
    def control_plane_listener_name(self) -> str | None:
        return self._roles.control_plane_listener_name

    @property
    def controller_listener_names(self) -> tuple[str, ...]:
        return self._roles.controller_listener_names

    @property
    def inter_node_listeners(self) -> dict[str, SecurityProtocol]:
        """The protocols, by name, of the listeners on which this node connects to others, from its own configuration:
        the first of the controllers' listeners, inter-broker and control plane. Brokers do not bind the first of them,
        dedicated controllers do not bind the other two."""
        names = (*self.controller_listener_names[:1], self.inter_broker_listener_name, self.control_plane_listener_name)
        plaintext = SecurityProtocol.PLAINTEXT
        return {name: self._roles.protocols.get(name, plaintext) for name in names if name is not None}

    @property
    def settings_names(self) -> list[str]:
        """Listeners whose keys are read: those of the table, and with dedicated controllers also those of other nodes,
        from the protocol map."""
        elsewhere = self._roles.protocols if self.controller_listener_names else ()
        return list(dict.fromkeys((*self._rows, *elsewhere)))

    @property
    def privileged_listener_name(self) -> str:
        """The listener to which other brokers send Envelopes and similar requests; part of the registration."""
        return self._roles.privileged_listener_name

    @property
    def control_plane_forced(self) -> bool:
        return self._roles.forced

    def security_protocol_of(self, name: str) -> SecurityProtocol | None:
        """The protocol of a listener in the protocol map, which may name listeners that this node does not bind."""
        return self._roles.protocols.get(normalize_listener_name(name))

    def advertised_endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints for the registration and for clients, in the order of `listeners`; without controller
        listeners, since only brokers may see them (F15)."""
        return tuple(row.advertised for row in self if row.advertised is not None and row.plane != CONTROLLER)

    def controller_endpoints(self) -> tuple[Endpoint, ...]:
        """The endpoints of this node's controller, which only brokers may see."""
        return tuple(row.advertised for row in self if row.advertised is not None and row.plane == CONTROLLER)

    def with_bound_ports(self, ports: Mapping[str, int], local_host: str) -> ListenerTable:
        """The table after the sockets are bound: the real port instead of 0, `local_host` for an empty advertised host.

        An advertised port 0 is resolved from the advertised entry alone, as Kafka does.
        """
        rows = []
        for row in self:
            advertised = row.advertised
            if advertised is not None:
                advertised = replace(
                    advertised, host=advertised.host or local_host, port=advertised.port or ports[row.name]
                )
            rows.append(replace(row, port=ports[row.name], advertised=advertised))
        return ListenerTable(rows, self._roles)


def read_listener_table(config: Mapping[str, str]) -> tuple[ListenerTable | None, list[ConfigFault]]:
    """The table of a configuration (key → text), or None and all its faults."""
    faults: list[ConfigFault] = []
    listeners = parse_entries(LISTENERS, config.get(LISTENERS, DEFAULT_LISTENERS), faults)
    advertised_key = ADVERTISED_LISTENERS if config.get(ADVERTISED_LISTENERS, "").strip() else LISTENERS
    advertised = (
        parse_entries(advertised_key, config[advertised_key], faults)
        if advertised_key == ADVERTISED_LISTENERS
        else listeners
    )
    protocols = parse_protocol_map(config.get(PROTOCOL_MAP, DEFAULT_PROTOCOL_MAP), faults)
    _add_implicit_controllers(config, listeners, protocols)
    check_distinct_names(LISTENERS, listeners, faults)
    check_distinct_ports(listeners, faults)
    check_mapped(LISTENERS, listeners, protocols.keys() | names_of_pairs(config.get(PROTOCOL_MAP, "")), faults)
    if advertised_key == ADVERTISED_LISTENERS:
        check_distinct_names(ADVERTISED_LISTENERS, advertised, faults)
    names = set(names_of_entries(config.get(LISTENERS, DEFAULT_LISTENERS)))
    check_advertised(names, advertised, advertised_key, faults)
    advertised_names = set(names_of_entries(config.get(advertised_key, DEFAULT_LISTENERS)))
    roles = read_roles(config, protocols, names, advertised_names, faults)
    if faults or roles is None:
        return None, faults
    advertised_by_name = {entry.name: entry for entry in advertised}
    return ListenerTable((_row(entry, advertised_by_name.get(entry.name), roles) for entry in listeners), roles), []


def readable_listeners(config: Mapping[str, str]) -> list[ListenerRow]:
    """The valid listeners, even if others are invalid: for checks that find the remaining faults at the same time.
    `inter_broker` is true for all listeners to which other nodes connect, control plane and controllers' too."""
    ignored: list[ConfigFault] = []
    protocols = parse_protocol_map(config.get(PROTOCOL_MAP, DEFAULT_PROTOCOL_MAP), ignored)
    entries = parse_entries(LISTENERS, config.get(LISTENERS, DEFAULT_LISTENERS), ignored)
    _add_implicit_controllers(config, entries, protocols)
    dialled = {*readable_peers(config), *_controller_names(config)}
    return [
        ListenerRow(
            name=entry.name,
            host=entry.host,
            port=entry.port,
            security_protocol=protocols[entry.name],
            advertised=None,
            inter_broker=entry.name in dialled,
        )
        for entry in entries
        if entry.name in protocols
    ]


def readable_peers(config: Mapping[str, str]) -> dict[str, SecurityProtocol]:
    """Protocols, by name, of the listeners on which this node connects to others: inter-broker, control plane,
    controllers'."""
    protocols = parse_protocol_map(config.get(PROTOCOL_MAP, DEFAULT_PROTOCOL_MAP), [])
    entries = parse_entries(LISTENERS, config.get(LISTENERS, DEFAULT_LISTENERS), [])
    _add_implicit_controllers(config, entries, protocols)
    inter_broker = read_inter_broker(config, protocols, [])
    dialled = dict([inter_broker]) if inter_broker is not None else {}
    control = normalize_listener_name(config.get(CONTROL_PLANE_NAME, ""))
    if control in protocols:
        dialled[control] = protocols[control]
    controllers = _controller_names(config)[:1] if read_process_roles(config, []) else []
    return dialled | {name: protocols[name] for name in controllers if name in protocols}


def bound_elsewhere(config: Mapping[str, str]) -> set[str]:
    """The names in `readable_peers` that a node of these roles need not bind itself."""
    roles, controllers = read_process_roles(config, []), set(_controller_names(config))
    if roles == {"controller"}:
        return set(readable_peers(config)) - controllers
    return controllers if roles == {"broker"} else set()


def _controller_names(config: Mapping[str, str]) -> list[str]:
    return [normalize_listener_name(name) for name in split_list(config.get(CONTROLLER_NAMES, ""))]


def _add_implicit_controllers(
    config: Mapping[str, str], listeners: list[ListenerEntry], protocols: dict[str, SecurityProtocol]
) -> None:
    """With the default map, controller listeners are PLAINTEXT, unless a listener has the name of a secure protocol."""
    names = _controller_names(config)
    all_names = {*names, *(entry.name for entry in listeners)}
    secured = {"SSL", "SASL_PLAINTEXT", "SASL_SSL"}
    if PROTOCOL_MAP not in config and not all_names & secured:
        for name in names:
            protocols.setdefault(name, SecurityProtocol.PLAINTEXT)


def _row(entry: ListenerEntry, advertised: ListenerEntry | None, roles: ListenerRoles) -> ListenerRow:
    protocol = roles.protocols[entry.name]
    if entry.name in roles.controller_listener_names:
        plane = CONTROLLER
        advertised = advertised or entry
    else:
        plane = CONTROL if entry.name == roles.control_plane_listener_name else DATA
    return ListenerRow(
        name=entry.name,
        host=entry.host,
        port=entry.port,
        security_protocol=protocol,
        advertised=Endpoint(entry.name, advertised.host, advertised.port, protocol) if advertised else None,
        plane=plane,
        privileged=entry.name == roles.privileged_listener_name,
        forced=plane == CONTROL and roles.forced,
        inter_broker=entry.name == roles.inter_broker_listener_name,
    )
