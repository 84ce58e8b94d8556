"""A topic of six partitions on the brokers of the test session; broker processes behind lines that faults can cut."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from random import Random

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.changes.caller import LOGIN_SETTINGS
from tools.chaos.faults.network import Network
from tools.chaos.faults.power import Power
from tools.chaos.faults.switchboard_process import SwitchboardProcess
from tools.chaos.state_reader import StateReader, state_in_file

from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster

PARTITIONS = 6


@pytest.fixture
def topic(signalbox_bootstrap: str) -> str:
    name = f"chaos-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": signalbox_bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, replication_factor=3)])[name].result(10)
    return name


@pytest.fixture(scope="package")
def power(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Power]:
    """Three brokers with a SQLite store."""
    ports = Network.ports_needed(3)
    first_port = consecutive_ports(2 * ports, Random())
    with SwitchboardProcess() as board:
        network = Network(board, 3, first_port, first_port + ports)
        cluster = ProcessCluster(
            tmp_path_factory.mktemp("power"),
            3,
            first_port=first_port,
            overrides=LOGIN_SETTINGS,
            per_broker=network.settings,
        )
        with cluster:
            yield Power(cluster, network)


@pytest.fixture
def state(power: Power) -> Iterator[StateReader]:
    """A reader of the store of `power`'s brokers."""
    with state_in_file(power.cluster.folder / "metadata.db") as reader:
        yield reader
