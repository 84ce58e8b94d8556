"""Listeners change by rolling restarts, one broker at a time, without effect on clients (L12, C6).

Meanwhile an idempotent producer writes and a group reads on the CLIENT listener. No record may be lost or repeated and
no request may fail, whichever listeners the brokers use between each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.testing.free_ports import consecutive_ports
from tests.security.certificates import Authority
from tests.system.clusters import BROKERS, metric
from tests.system.loaded import LoadedCluster, loaded_cluster, read_by_a_group

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow]

NAMES = ("CLIENT", "REPLICATION", "SECURED", "GUEST", "CONTROL")
PROTOCOLS = "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,SECURED:SASL_SSL,GUEST:PLAINTEXT,CONTROL:PLAINTEXT"
# Kafka logs it as an error too whenever brokers differ; during a rolling change they do.
DIFFERENT = "Listeners are not identical across brokers"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True)
class Addresses:
    """The address of each listener of each broker, whether it is configured yet or not."""

    first_port: int

    def listeners(self, node_id: int, *names: str) -> Mapping[str, str]:
        """server.properties of a broker with exactly these listeners."""
        first = self.first_port + len(NAMES) * (node_id - 1)
        entries = [f"{name}://127.0.0.1:{first + NAMES.index(name)}" for name in names]
        return {"listeners": ",".join(entries), "listener.security.protocol.map": PROTOCOLS}


def change_something(loaded: LoadedCluster, name: str) -> None:
    """Creates a topic through every broker: brokers that are not the controller forward."""
    for node_id, broker in loaded.cluster.brokers.items():
        admin = AdminClient({"bootstrap.servers": broker.address("CLIENT"), "log_level": 2})
        made = f"{name}-{node_id}"
        admin.create_topics([NewTopic(made, 1, replication_factor=3)], operation_timeout=20)[made].result(30)
    loaded.wait_until_healthy()


@pytest.fixture
def addresses() -> Addresses:
    return Addresses(consecutive_ports(len(NAMES) * len(BROKERS), Random()))


@pytest.mark.spec("L12")
def test_the_inter_broker_listener_moves_to_sasl_ssl_in_three_rounds(tmp_path: Path, addresses: Addresses) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_text(authority.pem)
    keystore = authority.identity("broker").pem_file(tmp_path / "broker.pem")
    users = 'username="broker" password="broker-secret" user_broker="broker-secret";'
    secrets = {
        "listener.name.secured.ssl.keystore.location": keystore,
        "listener.name.secured.ssl.truststore.location": str(tmp_path / "ca.pem"),
        "listener.name.secured.plain.sasl.jaas.config": f"{_PLAIN} {users}",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
    }
    without_plane = {"control.plane.listener.name": "", "control.plane.force.controller.requests.enable": "false"}
    per_broker = {
        node_id: {**without_plane, **addresses.listeners(node_id, "CLIENT", "REPLICATION")} for node_id in BROKERS
    }
    with loaded_cluster(tmp_path / "cluster", per_broker) as loaded:
        with loaded.load(), read_by_a_group(loaded):
            # Round 1: every broker has both listeners, the old one is used.
            both = ("CLIENT", "REPLICATION", "SECURED")
            loaded.roll({node_id: {**secrets, **addresses.listeners(node_id, *both)} for node_id in BROKERS})
            change_something(loaded, "both")
            # Round 2: the new listener is used, broker by broker; in between the brokers differ.
            move = {"inter.broker.listener.name": "SECURED"}
            loaded.roll(dict.fromkeys(BROKERS[:2], move))
            change_something(loaded, "half-way")
            loaded.roll(dict.fromkeys(BROKERS[2:], move))
            # Round 3: the old listener is removed, and a new one for guests is added with the same restart.
            last = ("CLIENT", "SECURED", "GUEST")
            loaded.roll({node_id: addresses.listeners(node_id, *last) for node_id in BROKERS})
            change_something(loaded, "moved")
            for broker in loaded.cluster.brokers.values():
                assert set(broker.ready["bound"]) == set(last)
        assert loaded.longest_silence_s() < 5
        loaded.check_records(foreseen=DIFFERENT)


@pytest.mark.spec("C6", "C2")
def test_two_rounds_switch_to_the_control_plane_with_one_broker_left_behind(
    tmp_path: Path, addresses: Addresses
) -> None:
    without = {"control.plane.listener.name": "", "control.plane.force.controller.requests.enable": "false"}
    named = {"control.plane.listener.name": "CONTROL", "control.plane.force.controller.requests.enable": "true"}
    per_broker = {node_id: {**without, **addresses.listeners(node_id, "CLIENT", "REPLICATION")} for node_id in BROKERS}
    with_listener = {node_id: addresses.listeners(node_id, "CLIENT", "REPLICATION", "CONTROL") for node_id in BROKERS}
    *prompt, late = BROKERS
    with loaded_cluster(tmp_path / "cluster", per_broker) as loaded:
        with loaded.load(), read_by_a_group(loaded):
            loaded.roll({node_id: with_listener[node_id] for node_id in prompt})
            change_something(loaded, "listener-added")
            loaded.roll(dict.fromkeys(prompt, named))
            # Two brokers have done both rounds, the third none: it is controlled by them, then it is the controller.
            change_something(loaded, "one-behind")
            _make_controller(loaded, late)
            change_something(loaded, "controlled-by-the-late")
            loaded.roll({late: with_listener[late]})
            loaded.roll({late: named})
            change_something(loaded, "all-through")
            for node_id in BROKERS:
                connections = "signalbox_network_socketserver_connections"
                assert metric(loaded.cluster, node_id, connections, plane="control") > 0
        assert loaded.longest_silence_s() < 5
        loaded.check_records(foreseen=DIFFERENT)


def _make_controller(loaded: LoadedCluster, node_id: int) -> None:
    """Restarts the active controller until this broker is the controller."""
    for _ in range(20):
        if loaded.controller() == node_id:
            return
        loaded.roll({loaded.controller(): {}})
    raise AssertionError(f"broker {node_id} never became the controller")
