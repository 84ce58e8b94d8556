from __future__ import annotations

import pytest

from signalbox.client.connection.node import Address, parse_bootstrap_servers


def test_servers_are_read_in_order_and_once() -> None:
    found = parse_bootstrap_servers(" a:1, [::1]:2,b.example:3 ,a:1,")
    assert found == [Address("a", 1), Address("::1", 2), Address("b.example", 3)]
    assert [str(address) for address in found] == ["a:1", "[::1]:2", "b.example:3"]


@pytest.mark.parametrize("entry", ["a", "a:", ":9092", "a:0", "a:65536", "a:x", "::1:9092"])
def test_a_wrong_entry_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match=r"is not host:port|brackets"):
        parse_bootstrap_servers(f"good:9092,{entry}")


def test_no_server_at_all_is_rejected() -> None:
    with pytest.raises(ValueError, match="names no server"):
        parse_bootstrap_servers(" , ")
