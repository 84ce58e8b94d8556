from __future__ import annotations

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol
from signalbox.network.listeners.listener_entry import (
    names_of_entries,
    names_of_pairs,
    parse_entries,
    parse_protocol_map,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLAINTEXT://:9092", ("PLAINTEXT", "", 9092)),
        ("client://broker-1.example.com:0", ("CLIENT", "broker-1.example.com", 0)),
        ("Internal_Ssl://10.0.0.1:65535", ("INTERNAL_SSL", "10.0.0.1", 65535)),
        ("V6://[::1]:9092", ("V6", "::1", 9092)),
        ("V6://[fe80::1%eth0]:9092", ("V6", "fe80::1%eth0", 9092)),
    ],
)
def test_entries_that_are_read(text: str, expected: tuple[str, str, int]) -> None:
    faults: list[ConfigFault] = []
    (entry,) = parse_entries("listeners", f" {text} , ", faults)
    assert (entry.name, entry.host, entry.port) == expected
    assert entry.text == text
    assert not faults


@pytest.mark.parametrize(
    "text",
    ["PLAINTEXT", "PLAINTEXT:9092", "PLAINTEXT://host", "PLAINTEXT://host:port", "PLAINTEXT://[::1:9092",
     "PLAINTEXT://ho st:1", "A://h:1://x", "://host:9092", "P://h:70000", "P://h:-1", "", "P://h:1 Q://h:2"],
)  # fmt: skip
def test_entries_that_are_not(text: str) -> None:
    faults: list[ConfigFault] = []
    assert parse_entries("listeners", text, faults) == []
    assert len(faults) == 1
    assert faults[0].key == "listeners"
    assert faults[0].entry == text
    assert faults[0].remedy


def test_every_bad_entry_is_named_and_good_ones_are_kept() -> None:
    faults: list[ConfigFault] = []
    entries = parse_entries("advertised.listeners", "A://h:1, nonsense, B://h:99999, C://h:3", faults)
    assert [str(entry) for entry in entries] == ["A://h:1", "C://h:3"]
    assert [fault.entry for fault in faults] == ["nonsense", "B://h:99999"]


def test_protocol_map() -> None:
    faults: list[ConfigFault] = []
    protocols = parse_protocol_map("client:plaintext, A:B:sasl_ssl", faults)
    assert protocols == {"CLIENT": SecurityProtocol.PLAINTEXT, "A:B": SecurityProtocol.SASL_SSL}
    assert not faults


def test_protocol_map_faults() -> None:
    faults: list[ConfigFault] = []
    assert parse_protocol_map("A:TLS, alone, :SSL, B:SSL, b:SSL", faults) == {"B": SecurityProtocol.SSL}
    assert [fault.entry for fault in faults] == ["A:TLS", "alone", ":SSL", "b:SSL"]
    assert "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL" in faults[0].remedy


def test_names_of_invalid_entries_are_read() -> None:
    assert names_of_entries("a://h:1, A://h:2,B:9092,C,://h:1,D://h:x,") == ["A", "B", "C", "D"]
    assert names_of_pairs("a:SSL, B:TLS,C") == {"A", "B", ""}
