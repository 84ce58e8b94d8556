"""A change of the listener table while the broker runs: added and removed listeners, and invalid changes (KIP-226).

A listener that stays keeps its socket and its protocol: only its advertised address can change. As in Kafka, listeners
are identified by name. Kafka ignores another address of a listener that stays; here it is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import host_port
from signalbox.network.acceptors.binding import BindError, bind_listener
from signalbox.network.listeners.listener_entry import LISTENERS, PROTOCOL_MAP
from signalbox.network.listeners.listener_table import ListenerRow, ListenerTable
from signalbox.network.plane import CONTROLLER


def added_rows(old: ListenerTable, new: ListenerTable) -> list[ListenerRow]:
    """The listeners to bind."""
    return [row for row in new if row.name not in old]


def change_faults(old: ListenerTable, new: ListenerTable) -> list[ConfigFault]:
    """The faults that prevent a running broker from applying `new`. `old` has the bound ports. Binds new ports for a
    moment."""
    faults = []
    for row in new:
        if row.name in old:
            faults += _kept_listener_faults(old.row(row.name), row)
    for name in {row.name for row in old if row.plane == CONTROLLER} ^ {
        row.name for row in new if row.plane == CONTROLLER
    }:
        faults.append(ConfigFault(LISTENERS, name, "is a controller listener", "Change it by a restart"))
    return faults or _binding_faults(added_rows(old, new))


def _kept_listener_faults(old: ListenerRow, new: ListenerRow) -> list[ConfigFault]:
    other_name = "Add a listener with another name, move the clients there, then remove this one"
    faults = []
    if new.security_protocol is not old.security_protocol:
        problem = f"the listener {old.name} serves {old.security_protocol.name} and cannot change that"
        faults.append(ConfigFault(PROTOCOL_MAP, f"{old.name}:{new.security_protocol.name}", problem, other_name))
    if new.host != old.host or new.port not in (0, old.port):
        problem = f"the listener {old.name} is bound to {host_port(old.host, old.port)} and cannot be bound again"
        entry = f"{new.name}://{host_port(new.host, new.port)}"
        faults.append(ConfigFault(LISTENERS, entry, problem, other_name))
    return faults


def _binding_faults(rows: Iterable[ListenerRow]) -> list[ConfigFault]:
    faults: list[ConfigFault] = []
    for row in rows:
        try:
            bind_listener(row.name, row.host, row.port, 1).close()
        except BindError as error:
            faults += error.faults
    return faults
