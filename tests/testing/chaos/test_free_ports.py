"""Neighbouring ports, all of them free."""

from __future__ import annotations

import socket
from random import Random

from signalbox.testing.chaos.free_ports import free_ports


def test_the_ports_can_be_bound() -> None:
    first = free_ports(3, Random(1))
    for port in range(first, first + 3):
        socket.create_server(("127.0.0.1", port)).close()


def test_ports_in_use_are_passed_over() -> None:
    taken = free_ports(3, Random(1))
    with socket.create_server(("127.0.0.1", taken + 1)):
        found = free_ports(3, Random(1))
    assert taken + 1 not in range(found, found + 3)
