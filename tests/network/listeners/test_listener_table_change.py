"""Changes of the listeners that a running broker can make, and those that it rejects."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from signalbox.network.listeners.listener_table import ListenerTable, read_listener_table
from signalbox.network.listeners.listener_table_change import added_rows, change_faults

LISTENERS = "CLIENT://127.0.0.1:9101,REPLICATION://127.0.0.1:9102"


def table(listeners: str, protocols: str = "", **more: str) -> ListenerTable:
    names = [entry.partition("://")[0] for entry in listeners.split(",")]
    given = {
        "listeners": listeners,
        "listener.security.protocol.map": protocols or ",".join(f"{name}:PLAINTEXT" for name in names),
        "inter.broker.listener.name": "REPLICATION",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    found, faults = read_listener_table(given)
    assert found is not None, faults
    return found


def test_added_listeners_go_by_name() -> None:
    old, new = table(LISTENERS), table("REPLICATION://127.0.0.1:9102,GUEST://127.0.0.1:0")
    assert [row.name for row in added_rows(old, new)] == ["GUEST"]
    assert change_faults(old, new) == []


@pytest.mark.parametrize(
    ("new", "fault"),
    [
        (table(LISTENERS, advertised_listeners=LISTENERS.replace("9101", "9999")), None),  # only advertised otherwise
        (table(LISTENERS.replace("9101", "0")), None),  # port 0: the listener keeps its port
        (table(LISTENERS.replace("9101", "9103")), "CLIENT is bound to 127.0.0.1:9101 and cannot be bound again"),
        (table(LISTENERS.replace("127.0.0.1:9101", ":9101"), advertised_listeners=LISTENERS), "cannot be bound again"),
        (table(LISTENERS, "CLIENT:SSL,REPLICATION:PLAINTEXT"), "CLIENT serves PLAINTEXT and cannot change that"),
    ],
)
def test_a_listener_that_stays_keeps_its_socket_and_protocol(new: ListenerTable, fault: str | None) -> None:
    found = change_faults(table(LISTENERS), new)
    assert len(found) == (fault is not None)
    assert all(str(fault) in each.problem for each in found)


def test_a_port_in_use_is_found_before_anything_changes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        entry = f"GUEST://127.0.0.1:{taken.getsockname()[1]}"
        [fault] = change_faults(table(LISTENERS), table(f"{LISTENERS},{entry}"))
        assert (fault.entry, fault.key) == (entry, "listeners")
    assert change_faults(table(LISTENERS), table(f"{LISTENERS},{entry}")) == []


def test_controller_listeners_are_left_to_a_restart() -> None:
    roles = {"process_roles": "broker,controller", "controller_listener_names": "CTRL"}
    both = f"{LISTENERS},CTRL://127.0.0.1:9105"
    old = table(both, **roles)
    rows = [replace(row, plane="data") if row.name == "CTRL" else row for row in old]
    [fault] = change_faults(old, ListenerTable(rows, old._roles))
    assert (fault.entry, fault.remedy) == ("CTRL", "Change it by a restart")
