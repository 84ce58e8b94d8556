"""The nodes that can be the controller, and whether brokers know their addresses (F15)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from signalbox.configuration.check import cluster_roles, files
from signalbox.configuration.check.checked_broker import CheckedBroker
from signalbox.configuration.check.files import compare
from tests.configuration.check.brokers import broker, controller
from tests.configuration.settings import OF_CONTROLLER

MAP = OF_CONTROLLER["listener.security.protocol.map"]
SERVING = {
    "process__roles": "broker",
    "controller__listener__names": "CONTROLLER",
    "listener__security__protocol__map": MAP,
}

pytestmark = pytest.mark.spec("F15")


def found(nodes: Sequence[CheckedBroker]) -> list[str]:
    return [str(fault) for fault in compare(files._FAULTS, nodes)]


def test_brokers_and_controllers_that_fit() -> None:
    nodes = [broker(1, **SERVING), broker(2, **SERVING), controller(101), controller(102)]
    assert found(nodes) == []
    assert compare(files._NOTES, nodes) == []


def test_no_node_may_be_controller() -> None:
    [fault] = cluster_roles.needs_controller([broker(1, **SERVING), broker(2, **SERVING)])
    assert (fault.key, fault.entry, fault.origin) == ("process.roles", "broker", "1.properties")
    assert "none of these 2 nodes may become the controller" in str(fault)
    assert list(cluster_roles.needs_controller([broker(1, **SERVING), broker(2)])) == []


def test_controllers_on_a_listener_that_brokers_do_not_know() -> None:
    other = {"controller__listener__names": "CTRL", "listener__security__protocol__map": f"{MAP},CTRL:PLAINTEXT"}
    [fault] = cluster_roles.controllers_known([broker(1, **{**SERVING, **other}), controller(101)])
    assert (fault.key, fault.entry, fault.origin) == ("controller.listener.names", "CTRL", "1.properties")
    assert "controller 101 (101.properties) is reached on CONTROLLER" in str(fault)


def test_controllers_on_another_protocol() -> None:
    secured = MAP.replace("CONTROLLER:PLAINTEXT", "CONTROLLER:SASL_PLAINTEXT")
    nodes = [broker(1, **SERVING), controller(101, listener__security__protocol__map=secured)]
    [fault] = cluster_roles.controllers_known(nodes)
    assert (fault.key, fault.entry) == ("listener.security.protocol.map", "CONTROLLER:PLAINTEXT")
    assert "CONTROLLER is SASL_PLAINTEXT in controller 101" in str(fault)


def test_an_id_belongs_to_one_node() -> None:
    nodes = [broker(1, **SERVING), controller(101), controller(1)]
    assert len(found(nodes)) == 1
    assert "is the id in 1.properties as well" in found(nodes)[0]


def test_a_user_that_the_controller_does_not_know() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    login = {
        "listener__security__protocol__map": MAP.replace("CONTROLLER:PLAINTEXT", "CONTROLLER:SASL_PLAINTEXT"),
        "sasl__mechanism__controller__protocol": "PLAIN",
        "listener__name__controller__sasl__enabled__mechanisms": "PLAIN",
    }
    key = "listener__name__controller__plain__sasl__jaas__config"
    serving = {**SERVING, **login, key: f'{module} username="b" password="1";'}
    taking = {**login, key: f'{module} username="c" password="2" user_c="2" user_a="1";'}
    [fault] = found([broker(1, **serving), controller(101, **taking), controller(102, **taking)][:2])
    assert "controller 101 (101.properties) does not know this user on CONTROLLER" in fault
    taking[key] = f'{module} username="c" password="2" user_c="2" user_b="1";'
    assert found([broker(1, **serving), controller(101, **taking), controller(102, **taking)]) == []


def test_a_broker_without_roles_is_reported() -> None:
    [note] = cluster_roles.all_alike([broker(1), broker(2, **SERVING), controller(101)])
    assert (note.key, note.origin) == ("process.roles", "1.properties")
    assert "this broker may become the controller as well" in str(note)
