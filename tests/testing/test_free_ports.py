"""Ports that can be bound, single ones and consecutive ones."""

from __future__ import annotations

import socket
from random import Random

from signalbox.testing.free_ports import consecutive_ports, free_ports, port_range


def test_the_ports_can_be_bound() -> None:
    first = consecutive_ports(3, Random(1))
    for port in range(first, first + 3):
        socket.create_server(("127.0.0.1", port)).close()


def test_ports_in_use_are_passed_over() -> None:
    taken = consecutive_ports(3, Random(1))
    with socket.create_server(("127.0.0.1", taken + 1)):
        found = consecutive_ports(3, Random(1))
    assert taken + 1 not in range(found, found + 3)


def test_any_ports_are_all_different_and_can_be_bound() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_workers_have_ranges_of_their_own() -> None:
    ranges = [port_range(f"gw{number}", 3) for number in range(3)]
    assert [low for low, _ in ranges[1:]] == [high for _, high in ranges[:-1]]
    assert port_range("gw0", 1) == (20_000, 32_000)
