"""Relays with a socket that rewires them, in front of servers that are no brokers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from signalbox.testing.control.control_socket import NoControl, ask_control
from signalbox.testing.control.drill_relays import DrillRelays, RelayedPorts
from signalbox.testing.free_ports import free_ports

pytestmark = pytest.mark.spec("R7")


def reached(port: int, *servers: socket.socket) -> int:
    """The number of the server to which a connection leads."""
    with socket.create_connection(("127.0.0.1", port)):
        for number, server in enumerate(servers, 1):
            server.settimeout(0.2)
            try:
                server.accept()[0].close()
            except TimeoutError:
                continue
            return number
    return 0


def test_clients_reach_brokers_through_relays_that_are_rewired(tmp_path: Path) -> None:
    one, other = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
    with one, other:
        first, second = free_ports(2)
        ports = {
            1: RelayedPorts(first, one.getsockname()[1], 7), 2: RelayedPorts(second, other.getsockname()[1], 8)
        }  # fmt: skip
        with DrillRelays(tmp_path, ports) as relays:
            assert relays.kit_bootstrap == "127.0.0.1:7,127.0.0.1:8"
            assert [reached(port, one, other) for port in (first, second)] == [1, 2]
            ask_control(tmp_path, {"do": "apply", "fault": "SwapAddresses", "fields": {"one": "1", "other": "2"}})
            assert [reached(port, one, other) for port in (first, second)] == [2, 1]
            reads = {"do": "apply", "fault": "DropRequest", "fields": {"api": "Fetch"}}
            assert ask_control(tmp_path, reads)["number"] == 2
    with pytest.raises(NoControl):
        ask_control(tmp_path, {"do": "list"})


def test_a_further_listener_has_relays_of_its_own(tmp_path: Path) -> None:
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
    own = [server.getsockname()[1] for server in servers]
    first, second, *external = free_ports(4)
    ports = {
        1: RelayedPorts(first, own[0], 7, {"EXTERNAL": (external[0], own[2])}),
        2: RelayedPorts(second, own[1], 8, {"EXTERNAL": (external[1], own[3])}),
    }
    with DrillRelays(tmp_path, ports):
        assert [reached(port, *servers) for port in (first, second, *external)] == [1, 2, 3, 4]
        swap = {"one": "1", "other": "2", "listener": "EXTERNAL"}
        ask_control(tmp_path, {"do": "apply", "fault": "SwapAddresses", "fields": swap})
        assert [reached(port, *servers) for port in (first, second, *external)] == [1, 2, 4, 3]
        rows = ask_control(tmp_path, {"do": "list"})["addresses"]
        assert [(row["broker"], row["listener"], row["leads_to"]) for row in rows] == [
            (1, "CLIENT", [1]), (1, "EXTERNAL", [2]), (2, "CLIENT", [2]), (2, "EXTERNAL", [1])
        ]  # fmt: skip
    for server in servers:
        server.close()


def test_a_port_that_is_taken_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = {1: RelayedPorts(taken.getsockname()[1], 7, 8)}
        with pytest.raises(OSError, match="in use"), DrillRelays(tmp_path, ports):
            pass
    assert list(tmp_path.iterdir()) == []


def test_tls_that_a_relay_cannot_read_leaves_faults_of_addresses_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "node.id=1\nlisteners=CLIENT://127.0.0.1:7\nlistener.security.protocol.map=CLIENT:SSL\n"
    )
    files = {1: tmp_path / "server.properties"}
    with DrillRelays(tmp_path, {1: RelayedPorts(free_ports(1)[0], 7, 8)}, files):
        reads = {"do": "apply", "fault": "DropRequest", "fields": {"api": "Fetch"}}
        assert "cannot read the TLS of this cluster's clients" in ask_control(tmp_path, reads)["error"]
        assert ask_control(tmp_path, {"do": "apply", "fault": "Stall", "fields": {"node": "1"}})["number"] == 1
