"""Ports of a cluster, and the listeners that follow from them."""

from __future__ import annotations

from signalbox.cli.local_cluster.cluster_ports import Ports
from signalbox.testing.control.drill_relays import RelayedPorts


def test_metrics_pages_are_behind_the_listeners() -> None:
    ports = Ports.of(1000, 2, 1)
    assert ports.of_node(1, None, {}) == {"signalbox.metrics.http.port": "1007"}
    assert ports.of_node(101, None, {}) == {"signalbox.metrics.http.port": "1009"}
    assert ports.of_node(1, None, {"signalbox.metrics.http.port": "7"}) == {}


def test_an_advertised_host_is_for_brokers() -> None:
    ports = Ports.of(1000, 2, 1)
    inner = "REPLICATION://127.0.0.1:1004,CONTROL://127.0.0.1:1005"
    keys = ports.of_node(2, "kafka", {})
    assert keys["listeners"] == f"CLIENT://0.0.0.0:1003,{inner}"
    assert keys["advertised.listeners"] == f"CLIENT://kafka:1003,{inner}"
    assert "listeners" not in ports.of_node(101, "kafka", {})


def test_with_a_drill_the_advertised_port_is_the_relays() -> None:
    ports = Ports.of(1000, 2, 1, drill=True)
    assert ports.relayed() == {1: RelayedPorts(1000, 1010, 1011), 2: RelayedPorts(1003, 1012, 1013)}
    keys = ports.of_node(2, None, {})
    inner = "REPLICATION://127.0.0.1:1004,CONTROL://127.0.0.1:1005,KIT://127.0.0.1:1013"
    assert keys["listeners"] == f"CLIENT://127.0.0.1:1012,{inner}"
    assert keys["advertised.listeners"] == f"CLIENT://127.0.0.1:1003,{inner}"
    taken = [ports.of_node(node, None, {})["signalbox.metrics.http.port"] for node in (1, 2, 101)]
    assert taken == ["1007", "1008", "1009"]


def test_free_ports_are_taken_for_0() -> None:
    assert Ports.of(0, 1, 0).first > 0


def test_each_listener_of_a_drill_has_a_relay_of_its_own() -> None:
    ports = Ports.of(1000, 2, 1, True, ("EXTERNAL", "OTHER"))
    assert ports.relayed()[2] == RelayedPorts(1003, 1012, 1013, {"EXTERNAL": (1018, 1019), "OTHER": (1020, 1021)})
    keys = ports.of_node(1, None, {})
    assert keys["listeners"].endswith(",KIT://127.0.0.1:1011,EXTERNAL://127.0.0.1:1015,OTHER://127.0.0.1:1017")
    advertised = ",KIT://127.0.0.1:1011,EXTERNAL://127.0.0.1:1014,OTHER://127.0.0.1:1016"
    assert keys["advertised.listeners"].endswith(advertised)
