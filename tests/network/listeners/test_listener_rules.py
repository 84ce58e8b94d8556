from __future__ import annotations

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.network.listeners.listener_entry import parse_entries
from signalbox.network.listeners.listener_rules import (
    check_advertised,
    check_distinct_names,
    check_distinct_ports,
    check_mapped,
)


@pytest.mark.parametrize(
    ("text", "rejected"),
    [
        ("A://h:1,B://h:2", []),
        ("A://h:0,B://h:0,C://:0", []),
        ("A://127.0.0.1:1,B://[::1]:1", []),
        ("A://[::1]:1,B://127.0.0.1:1", []),
        ("A://h:1,B://h:1", ["B://h:1"]),
        ("A://:1,B://127.0.0.1:1", ["B://127.0.0.1:1"]),
        ("A://127.0.0.1:1,B://10.0.0.1:1", ["B://10.0.0.1:1"]),
        ("A://h:1,B://[::1]:1", ["B://[::1]:1"]),
        ("A://127.0.0.1:1,B://[::1]:1,C://[::2]:1", ["B://[::1]:1", "C://[::2]:1"]),
    ],
)
def test_ports_stand_once_bar_the_dual_stack_pair(text: str, rejected: list[str]) -> None:
    faults: list[ConfigFault] = []
    check_distinct_ports(parse_entries("listeners", text, faults), faults)
    assert [fault.entry for fault in faults] == rejected


def test_names_stand_once_even_in_the_dual_stack_pair() -> None:
    faults: list[ConfigFault] = []
    entries = parse_entries("listeners", "A://127.0.0.1:1,a://[::1]:1,B://h:2", faults)
    check_distinct_names("listeners", entries, faults)
    assert [fault.entry for fault in faults] == ["a://[::1]:1"]
    assert "Each listener must have a different name" in str(faults[0])


def test_every_listener_needs_a_protocol() -> None:
    faults: list[ConfigFault] = []
    check_mapped("listeners", parse_entries("listeners", "PLAINTEXT://:1", faults), {}, faults)
    assert "no security protocol is defined for the listener PLAINTEXT" in str(faults[0])


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "[::]", "0", "0.0", "0x0", "[0:0:0:0:0:0:0:0]", "[::ffff:0.0.0.0]", "[::%eth0]"]
)
def test_advertised_addresses_that_clients_cannot_reach(host: str) -> None:
    faults: list[ConfigFault] = []
    entries = parse_entries("listeners", f"A://{host}:1", faults)
    check_advertised({"A"}, entries, "listeners", faults)
    assert len(faults) == 1
    assert "advertised.listeners" in faults[0].remedy


def test_advertised_names_must_exist() -> None:
    faults: list[ConfigFault] = []
    advertised = parse_entries("advertised.listeners", "A://x:1,B://x:2", faults)
    check_advertised({"A"}, advertised, "advertised.listeners", faults)
    assert [fault.entry for fault in faults] == ["B://x:2"]
