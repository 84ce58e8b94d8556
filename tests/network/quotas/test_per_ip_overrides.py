from __future__ import annotations

import socket

import pytest

from signalbox.network.quotas.per_ip_overrides import parse_per_ip_overrides


def test_addresses_in_any_notation() -> None:
    text = "10.0.0.1:5, [::1]:7 ,fe80::2:1,[::ffff:10.0.0.2]:3,2001:DB8:0::1:2"
    expected = {"10.0.0.1": 5, "::1": 7, "fe80::2": 1, "10.0.0.2": 3, "2001:db8::1": 2}
    assert parse_per_ip_overrides(text) == (expected, [])


def test_a_name_stands_for_its_addresses() -> None:
    result, problems = parse_per_ip_overrides("localhost:3")
    assert result["127.0.0.1"] == 3
    assert set(result) == {str(each[4][0]) for each in socket.getaddrinfo("localhost", None)}
    assert problems == []


@pytest.mark.parametrize("piece", ["10.0.0.1", ":5", "h:-1", "h!:5", "10.0.0.1:\u00b2", "10.0.0.1:x"])
def test_invalid_pairs(piece: str) -> None:
    assert parse_per_ip_overrides(f"10.0.0.9:1,{piece}") == ({"10.0.0.9": 1}, [(piece, "is not host:count")])


def test_a_host_that_cannot_be_resolved() -> None:
    assert parse_per_ip_overrides("no.such.host.invalid:5") == (
        {},
        [("no.such.host.invalid:5", "names a host that cannot be resolved")],
    )
