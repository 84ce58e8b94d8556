from __future__ import annotations

from signalbox.common.endpoint import SecurityProtocol
from signalbox.network.listeners.listener_table import read_listener_table


def test_defaults() -> None:
    table, faults = read_listener_table({})
    assert not faults
    assert table is not None
    (row,) = table
    assert (row.name, row.host, row.port, row.plane) == ("PLAINTEXT", "", 9092, "data")
    assert row.privileged
    assert row.inter_broker
    assert len(table) == 1
    assert "plaintext" in table
    assert "other" not in table
    assert table.inter_broker_security_protocol is SecurityProtocol.PLAINTEXT


def test_all_faults_come_at_once() -> None:
    table, faults = read_listener_table(
        {
            "listeners": "CLIENT://h:1,client://h:1,WRONG,LOST://h:3,ADMIN://0.0.0.0:4",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,ADMIN:TLS",
            "inter.broker.listener.name": "UNDEFINED",
            "control.plane.listener.name": "LOST",
        }
    )
    assert table is None
    text = "\n".join(map(str, faults))
    for part in ("WRONG", "client://h:1", "LOST://h:3", "ADMIN:TLS", "0.0.0.0", "UNDEFINED", "control.plane"):
        assert part in text, part
    assert all(fault.problem and fault.remedy for fault in faults)


def test_advertised_endpoints_differ_from_where_it_binds() -> None:
    table, faults = read_listener_table(
        {
            "listeners": "A://:0,B://127.0.0.1:0,C://127.0.0.1:7",
            "listener.security.protocol.map": "A:SSL,B:PLAINTEXT,C:SASL_SSL",
            "advertised.listeners": "C://outside:70,A://:0",
            "inter.broker.listener.name": "A",
        }
    )
    assert not faults
    assert table is not None
    bound = table.with_bound_ports({"A": 5001, "B": 5002, "C": 7}, "here.example")
    assert [str(endpoint) for endpoint in bound.advertised_endpoints()] == ["A://here.example:5001", "C://outside:70"]
    assert [row.port for row in bound] == [5001, 5002, 7]
    assert bound.row("b").advertised is None
    assert bound.security_protocol_of("c") is SecurityProtocol.SASL_SSL
    assert bound.security_protocol_of("undefined") is None


def test_an_advertised_port_is_resolved_from_the_advertised_entry() -> None:
    table, _ = read_listener_table(
        {"listeners": "PLAINTEXT://127.0.0.1:0", "advertised.listeners": "PLAINTEXT://h:1234"}
    )
    assert table is not None
    bound = table.with_bound_ports({"PLAINTEXT": 5001}, "")
    assert [endpoint.port for endpoint in bound.advertised_endpoints()] == [1234]


def test_a_wildcard_that_would_be_advertised_as_such() -> None:
    _, faults = read_listener_table({"listeners": "PLAINTEXT://0.0.0.0:9092"})
    assert [fault.key for fault in faults] == ["listeners"]
    table, faults = read_listener_table(
        {"listeners": "PLAINTEXT://0.0.0.0:9092", "advertised.listeners": "PLAINTEXT://me:9092"}
    )
    assert not faults
    assert table is not None
