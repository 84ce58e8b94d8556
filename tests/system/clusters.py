"""Clusters of broker processes as the system tests use them, and their metrics over HTTP."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.system.wire import Wire, dial
from tests.waiting import until

BROKERS = (1, 2, 3)
# Every listener has an address of its own, so that an address of the wrong listener is noticed.
HOSTS: Mapping[str, str] = {
    "CLIENT": "127.0.0.1",
    "REPLICATION": "127.0.0.2",
    "CONTROL": "127.0.0.3",
    "ROUTED": "127.0.0.4",
    "PARTIAL": "127.0.0.5",
}
_PARTIAL_ON = (1, 2)

# Settings that only cost time in tests: a new group waits for no further members, few offsets partitions.
QUICK: Mapping[str, str] = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "6"}


@contextmanager
def routed_cluster(folder: Path, overrides: Mapping[str, str] | None = None) -> Iterator[RoutedCluster]:
    """Three brokers with two more listeners: ROUTED, which clients reach only through a switchboard, and PARTIAL,
    which the third broker does not have."""
    with SwitchboardThread() as switchboard:
        per_broker = {}
        for node_id in BROKERS:
            host, port = switchboard.add_line(line_of(node_id))
            bound = {name: f"{name}://{HOSTS[name]}:0" for name in HOSTS if name != "PARTIAL" or node_id in _PARTIAL_ON}
            per_broker[node_id] = {
                "listeners": ",".join(bound.values()),
                "advertised.listeners": ",".join({**bound, "ROUTED": f"ROUTED://{host}:{port}"}.values()),
                "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in HOSTS),
            }
        cluster = RoutedCluster(folder, switchboard, {**QUICK, **(overrides or {})}, per_broker)
        with cluster:
            for node_id, broker in cluster.brokers.items():
                host, _, port_text = str(broker.ready["bound"]["ROUTED"]).rpartition(":")
                switchboard.set_home(line_of(node_id), (host, int(port_text)))
            yield cluster


def line_of(node_id: int) -> str:
    """The name of a broker's line in the switchboard."""
    return f"broker-{node_id}"


class RoutedCluster(ProcessCluster):
    """A process cluster with the switchboard in front of its listener ROUTED."""

    def __init__(
        self,
        folder: Path,
        switchboard: SwitchboardThread,
        overrides: Mapping[str, str],
        per_broker: Mapping[int, Mapping[str, str]],
    ) -> None:
        super().__init__(folder, len(BROKERS), overrides=overrides, per_broker=per_broker)
        self.switchboard = switchboard


def metric(cluster: ProcessCluster, node_id: int, name: str, **labels: str) -> float:
    """The sum of a node's samples of one metric with these labels."""
    with urllib.request.urlopen(str(cluster.nodes[node_id].ready["metrics"]), timeout=10) as page:
        text = page.read().decode()
    total = 0.0
    for line in text.splitlines():
        sample, _, value = line.rpartition(" ")
        if sample.split("{")[0] == name and all(f'{key}="{label}"' in sample for key, label in labels.items()):
            total += float(value)
    return total


def controller_id(cluster: ProcessCluster) -> int:
    """The running node that reports to be the active controller; -1 while none does."""
    for node_id, broker in cluster.nodes.items():
        awake = broker.running and not broker.stopped_by_signal
        if awake and metric(cluster, node_id, "kafka_controller_kafkacontroller_activecontrollercount"):
            return node_id
    return -1


def has_another_controller(cluster: ProcessCluster, than: int) -> bool:
    """True if another running node reports to be the active controller."""
    return controller_id(cluster) not in (than, -1)


def admin_without(cluster: ProcessCluster, away: int) -> AdminClient:
    """A client of the other brokers, none of which has `away` in its metadata any more. librdkafka waits for the broker
    that Metadata named as the controller, which is any live one (KIP-590), until its timeout, even if that broker has
    just died or is paused: the first answer that a new client gets must not name it."""
    others = [broker for broker in cluster.brokers.values() if broker.node_id != away]
    for broker in others:
        with dial(cluster, broker.node_id) as wire:
            until(partial(_does_not_name, wire, away), f"broker {broker.node_id} without {away}")
    return AdminClient({"bootstrap.servers": ",".join(each.address("CLIENT") for each in others), "log_level": 2})


def _does_not_name(wire: Wire, away: int) -> bool:
    answer = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
    return away not in {broker.node_id for broker in answer.brokers}
