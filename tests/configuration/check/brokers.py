"""Brokers of one cluster as their configurations describe them, for rules that compare several brokers."""

from __future__ import annotations

from signalbox.common.config.properties_file import Properties
from signalbox.configuration.check.checked_broker import CheckedBroker
from signalbox.configuration.configuration import read_node_config
from tests.configuration.settings import OF_CONTROLLER, VALUES


def broker(node_id: int, **changes: str) -> CheckedBroker:
    """Broker n from a file `n.properties`, with ports and a folder of its own; two underscores in a key are a dot."""
    values = {
        **VALUES,
        "node.id": str(node_id),
        "listeners": f"CLIENT://h{node_id}:1,REPLICATION://h{node_id}:2,CONTROL://h{node_id}:3",
        "log.dirs": f"/data/{node_id}",
        "signalbox.metadata.store": "zookeeper:zk1:2181,zk2/kafka",
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    properties = Properties(f"{node_id}.properties", {key: value for key, value in values.items() if value})
    config, faults = read_node_config(properties)
    assert config is not None, faults
    return CheckedBroker(properties, config)


def controller(node_id: int, **changes: str) -> CheckedBroker:
    """A dedicated controller of the same cluster, from a file `n.properties`."""
    values = {
        **OF_CONTROLLER,
        "node.id": str(node_id),
        "listeners": f"CONTROLLER://h{node_id}:4",
        "signalbox.metadata.store": "zookeeper:zk1:2181,zk2/kafka",
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    properties = Properties(f"{node_id}.properties", {key: value for key, value in values.items() if value})
    config, faults = read_node_config(properties)
    assert config is not None, faults
    return CheckedBroker(properties, config)
