"""Warnings about an accepted configuration: unknown keys, listeners on which any client could act as a broker."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.common.config.properties_file import Properties
from signalbox.configuration.configuration import read_node_config

_NODE = {"node.id": "1", "signalbox.metadata.store": "sqlite:/tmp/signalbox-never-opened.db"}
_LISTENERS = {
    "listeners": "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "inter.broker.listener.name": "REPLICATION",
    "control.plane.listener.name": "CONTROL",
}


def warned_of(protocols: str, more: Mapping[str, str] | None = None) -> list[str]:
    """The listeners that the warnings name."""
    values = {**_NODE, **_LISTENERS, "listener.security.protocol.map": protocols, **(more or {})}
    config, faults = read_node_config(Properties("a test", values))
    assert config is not None, faults
    warnings = [warning for warning in config.warnings if "cannot be distinguished from clients" in warning]
    return [warning.split()[1] for warning in warnings]


@pytest.mark.spec("F4")
@pytest.mark.parametrize(
    ("protocols", "more", "listeners"),
    [
        ("CLIENT:SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT", {}, ["REPLICATION", "CONTROL"]),
        ("CLIENT:PLAINTEXT,REPLICATION:SASL_PLAINTEXT,CONTROL:PLAINTEXT", {}, ["CONTROL"]),
        ("CLIENT:PLAINTEXT,REPLICATION:SASL_PLAINTEXT,CONTROL:SASL_SSL", {}, []),
        ("CLIENT:PLAINTEXT,REPLICATION:SSL,CONTROL:SSL", {}, ["REPLICATION", "CONTROL"]),
        (
            "CLIENT:PLAINTEXT,REPLICATION:SSL,CONTROL:SSL",
            {"listener.name.replication.ssl.client.auth": "required"},
            ["CONTROL"],
        ),
        ("CLIENT:PLAINTEXT,REPLICATION:SSL,CONTROL:SSL", {"ssl.client.auth": "required"}, []),
    ],
)
def test_listeners_where_anybody_may_be_a_broker_are_named(
    protocols: str, more: Mapping[str, str], listeners: list[str]
) -> None:
    assert warned_of(protocols, more) == listeners


def test_unknown_keys_are_named_with_what_was_meant() -> None:
    config, _ = read_node_config(Properties("a test", {**_NODE, "log.retention.hour": "3"}))
    assert config is not None
    assert any("log.retention.hour" in text and "log.retention.hours?" in text for text in config.warnings)


def test_all_faults_come_at_once() -> None:
    config, faults = read_node_config(
        Properties("a test", {"node.id": "x", "signalbox.metadata.store": "etcd:1", "listeners": "A"})
    )
    assert config is None
    assert {fault.key for fault in faults} >= {"node.id", "signalbox.metadata.store", "listeners"}


def faults_of(**more: str) -> list[tuple[str, str, str]]:
    values = {**_NODE, **{key.replace("__", "."): value for key, value in more.items()}}
    config, faults = read_node_config(Properties("a test", values))
    assert (config is None) == bool(faults)
    return [(fault.key, fault.entry, fault.problem) for fault in faults]


@pytest.mark.parametrize(("key", "text"), [("log.dirs", ""), ("log.dirs", " , "), ("log.dir", ""), ("log.dir", " ")])
def test_no_log_directory(key: str, text: str) -> None:
    assert faults_of(**{key: text}) == [(key, "", "is empty")]


@pytest.mark.parametrize(
    ("text", "entry"), [("/tmp/a,/tmp/b,/tmp/a", "/tmp/a"), ("/tmp/a,/tmp/../tmp/a/", "/tmp/../tmp/a/")]
)
def test_a_log_directory_listed_twice(text: str, entry: str) -> None:
    assert faults_of(log__dirs=text) == [("log.dirs", entry, "is listed twice")]


@pytest.mark.parametrize("key", ["node.id", "broker.id"])
def test_an_id_that_is_no_number_is_one_fault(key: str) -> None:
    assert faults_of(**{key: "x"}) == [(key, "x", "'x' is not a whole number")]


@pytest.mark.spec("F15", "F17")
def test_dedicated_controllers_are_reached_only_by_forwarding() -> None:
    values = {
        **_NODE,
        "listeners": "CLIENT://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "process.roles": "broker",
        "controller.listener.names": "CONTROLLER",
    }
    config, faults = read_node_config(Properties("a test", values))
    assert config is not None, faults
    below = {**values, "inter.broker.protocol.version": "3.3"}
    config, faults = read_node_config(Properties("a test", below))
    assert config is None
    [fault] = faults
    assert (fault.key, fault.entry) == ("inter.broker.protocol.version", "3.3")
    assert "is below 3.4, and dedicated controllers are reached by forwarding alone" in fault.problem
