"""A node's configuration for tests: the three listeners, a metadata store that is never opened."""

from __future__ import annotations

from signalbox.common.config.properties_file import Properties
from signalbox.configuration.configuration import NodeConfig, read_node_config

VALUES = {
    "node.id": "1",
    "signalbox.metadata.store": "sqlite:never-opened.db",
    "listeners": "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
    "inter.broker.listener.name": "REPLICATION",
    "control.plane.listener.name": "CONTROL",
}


def config_of(**changes: str) -> NodeConfig:
    """A broker's configuration with `changes` by key; two underscores in a name are a dot."""
    values = {**VALUES, **{key.replace("__", "."): value for key, value in changes.items()}}
    config, faults = read_node_config(Properties("test", values))
    assert config is not None, faults
    return config


OF_CONTROLLER = {
    "node.id": "101",
    "signalbox.metadata.store": "sqlite:never-opened.db",
    "process.roles": "controller",
    "listeners": "CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "controller",
    "listener.security.protocol.map": f"{VALUES['listener.security.protocol.map']},CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "REPLICATION",
}


def controller_config_of(**changes: str) -> NodeConfig:
    """The configuration of a dedicated controller; `changes` as above."""
    values = {**OF_CONTROLLER, **{key.replace("__", "."): value for key, value in changes.items()}}
    config, faults = read_node_config(Properties("test", values))
    assert config is not None, faults
    return config
