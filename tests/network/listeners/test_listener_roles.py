"""The table of privileged listeners (SPEC C, Resolved), and the errors in listener names and roles."""

from __future__ import annotations

import pytest

from signalbox.network.listeners.listener_table import ListenerTable, read_listener_table

THREE = {
    "listeners": "CLIENT://127.0.0.1:1,REPLICATION://127.0.0.1:2,CONTROL://127.0.0.1:3",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
    "inter.broker.listener.name": "replication",
}
FORCE = "control.plane.force.controller.requests.enable"


def table_of(**config: str) -> ListenerTable:
    table, faults = read_listener_table(THREE | {key.replace("_", "."): value for key, value in config.items()})
    assert not faults, faults
    assert table is not None
    return table


def planes(table: ListenerTable) -> dict[str, tuple[str, bool, bool]]:
    return {row.name: (row.plane, row.privileged, row.forced) for row in table}


def test_no_control_plane_the_inter_broker_listener_is_privileged() -> None:
    assert planes(table_of()) == {
        "CLIENT": ("data", False, False),
        "REPLICATION": ("data", True, False),
        "CONTROL": ("data", False, False),
    }


def test_a_control_plane_that_is_not_forced_is_privileged() -> None:
    table = table_of(control_plane_listener_name="Control")
    assert planes(table) == {
        "CLIENT": ("data", False, False),
        "REPLICATION": ("data", False, False),
        "CONTROL": ("control", True, False),
    }
    assert table.privileged_listener_name == "CONTROL"
    assert table.control_plane_listener_name == "CONTROL"


def test_a_forced_control_plane_leaves_the_inter_broker_listener_privileged() -> None:
    config = THREE | {"control.plane.listener.name": "CONTROL", FORCE: "true"}
    table, faults = read_listener_table(config)
    assert not faults
    assert table is not None
    assert planes(table) == {
        "CLIENT": ("data", False, False),
        "REPLICATION": ("data", True, False),
        "CONTROL": ("control", False, True),
    }
    assert table.privileged_listener_name == "REPLICATION"
    assert table.control_plane_forced


def test_a_dedicated_controller_is_privileged_on_its_first_listener() -> None:
    table, faults = read_listener_table(
        {
            "listeners": "PLAINTEXT://127.0.0.1:1,CTRL://127.0.0.1:2,CTRL2://127.0.0.1:3",
            "process.roles": "broker,controller",
            "controller.listener.names": "ctrl,ctrl2",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CTRL:PLAINTEXT,CTRL2:PLAINTEXT",
        }
    )
    assert not faults
    assert table is not None
    assert planes(table) == {
        "PLAINTEXT": ("data", False, False),
        "CTRL": ("controller", True, False),
        "CTRL2": ("controller", False, False),
    }
    assert table.controller_listener_names == ("CTRL", "CTRL2")
    assert [endpoint.listener_name for endpoint in table.advertised_endpoints()] == ["PLAINTEXT"]


def test_controller_listeners_are_plaintext_without_a_map() -> None:
    table, faults = read_listener_table(
        {"listeners": "CTRL://127.0.0.1:2", "process.roles": "controller", "controller.listener.names": "CTRL"}
    )
    assert not faults
    assert table is not None
    assert table.row("ctrl").security_protocol.name == "PLAINTEXT"


@pytest.mark.parametrize(
    ("config", "key", "problem"),
    [
        ({"security.inter.broker.protocol": "PLAINTEXT"}, "inter.broker.listener.name", "is set as well"),
        ({"inter.broker.listener.name": "NOWHERE"}, "inter.broker.listener.name", "is not found in"),
        ({"advertised.listeners": "CLIENT://h:1"}, "inter.broker.listener.name", "is not advertised"),
        ({"control.plane.listener.name": "REPLICATION"}, "control.plane.listener.name", "cannot be the inter-broker"),
        ({"control.plane.listener.name": "NOWHERE"}, "control.plane.listener.name", "is not found in"),
        (
            {"control.plane.listener.name": "CONTROL", "advertised.listeners": "CLIENT://h:1,REPLICATION://h:2"},
            "control.plane.listener.name",
            "is not in listeners and advertised.listeners",
        ),
        ({FORCE: "maybe"}, FORCE, "neither true nor false"),
        ({"controller.listener.names": "CONTROL"}, "controller.listener.names", "no dedicated controllers"),
        ({"process.roles": "broker,broker"}, "process.roles", "not a set of roles"),
        ({"process.roles": "broker"}, "controller.listener.names", "names no listener"),
        (
            {"process.roles": "broker", "controller.listener.names": "CONTROL"},
            "controller.listener.names",
            "a broker does not bind CONTROL",
        ),
        (
            {"process.roles": "controller", "controller.listener.names": "CONTROL"},
            "controller.listener.names",
            "binds nothing but controller listeners, not CLIENT, REPLICATION",
        ),
        (
            {"process.roles": "controller,broker", "controller.listener.names": "ELSEWHERE"},
            "controller.listener.names",
            "a controller must bind ELSEWHERE",
        ),
    ],
)  # fmt: skip
def test_faults(config: dict[str, str], key: str, problem: str) -> None:
    table, faults = read_listener_table(THREE | config)
    assert table is None
    assert any(fault.key == key and problem in fault.problem for fault in faults), faults


def test_a_protocol_instead_of_a_name() -> None:
    config = {key: value for key, value in THREE.items() if key != "inter.broker.listener.name"}
    _, faults = read_listener_table(config | {"security.inter.broker.protocol": "KERBEROS"})
    assert faults[0].key == "security.inter.broker.protocol"
    _, faults = read_listener_table(config)
    assert "the inter-broker listener PLAINTEXT is not advertised" in str(faults[0])
