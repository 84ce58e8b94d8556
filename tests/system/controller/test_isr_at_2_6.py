"""The ISR below inter.broker.protocol.version 2.7: leaders change it by AlterPartition there, too (decision 0036)."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.state_reader import StateReader
from tools.chaos.stores import STORES

from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.layout import partition_state_path
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster
from tests.system import provision
from tests.system.clusters import QUICK
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240)]

TOPIC = "flights"
SESSION_MS = 60_000  # a paused broker stays registered: its leaders notice it, not the controller
SETTINGS = {
    **QUICK,
    "inter.broker.protocol.version": "2.6",
    "replica.lag.time.max.ms": "1000",
    "signalbox.audit.enable": "false",
}


def isr(state: StateReader) -> set[int]:
    """The ISR in the store."""
    path = partition_state_path(TOPIC, 0)
    entry = state.entry(path)
    return set() if entry is None else set(decode_partition_state(path, entry.data, entry.version).isr)


def shown(admin: AdminClient) -> set[int]:
    """The ISR in the response of a broker."""
    return set(admin.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions[0].isrs)


@pytest.mark.spec("M2", "M3")
@pytest.mark.parametrize("store", STORES)
def test_the_isr_shrinks_and_expands_and_a_restart_waits_for_nothing(tmp_path: Path, store: str) -> None:
    if store == "zookeeper":
        provision.zookeeper()
    with STORES[store](tmp_path / "cluster", SESSION_MS) as running:
        cluster = ProcessCluster(
            tmp_path / "cluster",
            3,
            first_port=consecutive_ports(9, Random()),
            overrides={**SETTINGS, **running.settings},
        )
        with cluster, running.state() as state:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
            admin.create_topics([NewTopic(TOPIC, 1, 3)], operation_timeout=20)[TOPIC].result(30)
            until(lambda: isr(state) == {1, 2, 3}, "all replicas in sync")
            leader = state.leaders(TOPIC)[0]
            follower = next(node_id for node_id in (1, 2, 3) if node_id not in (leader, state.controller_id()))
            cluster.pause(follower)
            producer = Producer({"bootstrap.servers": cluster.brokers[leader].address("CLIENT"), "acks": "all"})
            producer.produce(TOPIC, b"acknowledged without the follower")
            until(lambda: isr(state) == {1, 2, 3} - {follower}, "the leader to shrink the ISR")
            assert producer.flush(30) == 0
            cluster.resume(follower)
            until(lambda: isr(state) == {1, 2, 3}, "the leader to expand the ISR")
            until(lambda: shown(admin) == {1, 2, 3}, "the brokers to know it")
            begun = time.monotonic()
            cluster.stop_broker(follower)
            assert time.monotonic() - begun < 30
            assert isr(state) == {1, 2, 3} - {follower}, "a controlled shutdown leaves the ISR"
            cluster.start_broker(follower)
            until(lambda: isr(state) == {1, 2, 3}, "the restarted broker in the ISR")
