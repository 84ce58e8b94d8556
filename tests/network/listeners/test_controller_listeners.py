"""Listeners of dedicated controllers, by Kafka's rules for each set of roles."""

from __future__ import annotations

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol
from signalbox.network.listeners.controller_listeners import read_controller_names, read_process_roles

PROTOCOLS = {"CLIENT": SecurityProtocol.PLAINTEXT, "CTRL": SecurityProtocol.SSL, "CTRL2": SecurityProtocol.SSL}


@pytest.mark.parametrize(
    ("text", "roles", "rejected"),
    [
        ("", set(), False),
        ("broker, controller", {"broker", "controller"}, False),
        ("broker,broker", {"broker"}, True),
        ("zookeeper", {"zookeeper"}, True),
    ],
)
def test_roles(text: str, roles: set[str], rejected: bool) -> None:
    faults: list[ConfigFault] = []
    assert read_process_roles({"process.roles": text}, faults) == roles
    assert [(fault.key, fault.entry) for fault in faults] == [("process.roles", text)] * rejected


@pytest.mark.spec("F15")
@pytest.mark.parametrize(
    ("roles", "names", "listeners", "controllers", "problems"),
    [
        ((), "", {"CLIENT"}, (), []),
        ((), "ctrl", {"CLIENT"}, (), ["there are no dedicated controllers"]),
        (("controller",), "ctrl2, Ctrl", {"CTRL", "CTRL2"}, ("CTRL2", "CTRL"), []),
        (
            ("controller",),
            "CTRL",
            {"CTRL", "CLIENT"},
            ("CTRL",),
            ["binds nothing but controller listeners, not CLIENT"],
        ),
        (("controller",), "CTRL", {"CTRL2"}, ("CTRL",), ["a controller must bind CTRL", "not CTRL2"]),
        (("controller",), "", {"CTRL"}, (), ["names no listener"]),
        (("broker",), "CTRL", {"CLIENT"}, ("CTRL",), []),
        (("broker",), "CTRL", {"CLIENT", "CTRL"}, ("CTRL",), ["a broker does not bind CTRL"]),
        (("broker",), "OTHER", {"CLIENT"}, ("OTHER",), ["the listener OTHER is not found in"]),
        (("broker", "controller"), "CTRL", {"CLIENT", "CTRL"}, ("CTRL",), []),
    ],
)
def test_names(
    roles: tuple[str, ...], names: str, listeners: set[str], controllers: tuple[str, ...], problems: list[str]
) -> None:
    faults: list[ConfigFault] = []
    config = {"controller.listener.names": names}
    assert read_controller_names(config, set(roles), listeners, PROTOCOLS, faults) == controllers
    assert len(faults) == len(problems)
    for fault, problem in zip(faults, problems, strict=True):
        assert (fault.key, fault.entry) == ("controller.listener.names", names)
        assert problem in fault.problem


def test_a_controller_has_no_control_plane() -> None:
    faults: list[ConfigFault] = []
    config = {"controller.listener.names": "CTRL", "control.plane.listener.name": "CLIENT"}
    read_controller_names(config, {"controller"}, {"CTRL"}, PROTOCOLS, faults)
    assert [(fault.key, fault.entry) for fault in faults] == [("control.plane.listener.name", "CLIENT")]
