"""A cluster under idempotent acks=all load, for fault tests: the acknowledged records are checked at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.broker_logs import troubles
from tools.chaos.group import GroupMember, read_everything
from tools.chaos.ledger import Ledger, longest_silences
from tools.chaos.load import SteadyProducer
from tools.chaos.record_check import check_records
from tools.chaos.replicas import compare_replicas
from tools.chaos.state_reader import StateReader
from tools.chaos.stores import STORES

from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.waiting import until

TOPIC = "loaded"
PARTITIONS = 3
SESSION_S = 6.0
_RATE = 600
_OVERRIDES = {**QUICK, "log.segment.bytes": "4194304"}


@dataclass
class LoadedCluster:
    """`state` reads the metadata store itself: no broker has to respond."""

    cluster: ProcessCluster
    state: StateReader
    ledger: Ledger = field(default_factory=Ledger)

    def leader(self) -> int:
        """The leader of partition 0."""
        return self.state.leaders(TOPIC)[0]

    def controller(self) -> int:
        return until(lambda: max(self.state.controller_id(), 0), "a controller")

    def wait_until_healthy(self) -> None:
        """Waits until all brokers are registered and all replicas in sync."""
        until(lambda: not self.state.what_is_missing(len(self.cluster.brokers)), "a healthy cluster")

    @contextmanager
    def load(self) -> Iterator[None]:
        """Sends records inside the block; afterwards every one must have been acknowledged."""
        producer = SteadyProducer(0, self.cluster.bootstrap(), TOPIC, _RATE, self.ledger)
        producer.start()
        until(lambda: len(self.ledger.acknowledged) > 200, "the first records")
        try:
            yield
            self.wait_for_more(300)
        finally:
            unanswered = producer.stop(20)
        assert unanswered == 0
        assert self.ledger.rejected == []
        assert len(self.ledger.acknowledged) == producer.sent

    def wait_for_more(self, count: int) -> None:
        """Waits for so many more acknowledgements."""
        goal = len(self.ledger.acknowledged) + count
        until(lambda: len(self.ledger.acknowledged) >= goal, f"{count} more acknowledgements", timeout_s=45)

    def longest_silence_s(self) -> float:
        times = [list(moments) for moments in self.ledger.times.values()]
        return max(longest_silences(times, 0.0, time.monotonic()))

    def roll(self, changes: Mapping[int, Mapping[str, str]]) -> None:
        """Restarts one broker after the other: a controlled shutdown, then a start with other properties."""
        for node_id, values in changes.items():
            assert self.cluster.stop_broker(node_id) == 0
            self.cluster.configure(node_id, values)
            self.wait_for_more(50)
            self.cluster.start_broker(node_id)
            self.wait_until_healthy()

    def check_records(self, foreseen: str = "") -> None:
        """No acknowledged record is lost, duplicated or out of order; no broker logged an error, except those in
        `foreseen`; all replicas are equal on disk."""
        found = read_everything(self.cluster.bootstrap(), TOPIC, PARTITIONS, 30)
        everything = {(part, offset): record for part, rows in found.items() for offset, record in rows}
        assert check_records(self.ledger.acknowledged, found, everything).examples == ()
        assert len(everything) == len(self.ledger.acknowledged)
        self.wait_until_healthy()
        self.cluster.stop()
        for broker in self.cluster.brokers.values():
            assert [line for line in troubles(broker.log_file) if not foreseen or foreseen not in line] == []
        folders = {broker.folder.name: broker.folder / "data" for broker in self.cluster.brokers.values()}
        assert compare_replicas(folders).differences == ()


@contextmanager
def loaded_cluster(
    folder: Path,
    per_broker: Mapping[int, Mapping[str, str]] | None = None,
    store: str = "sqlite",
    *,
    brokers: int = 3,
    session_s: float = SESSION_S,
) -> Iterator[LoadedCluster]:
    """Brokers with fixed ports, and the topic; stops everything at the end."""
    with STORES[store](folder, int(session_s * 1000)) as running:
        overrides = {**_OVERRIDES, **running.settings}
        first_port = consecutive_ports(3 * brokers, Random())
        cluster = ProcessCluster(folder, brokers, first_port=first_port, overrides=overrides, per_broker=per_broker)
        with cluster, running.state() as state:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
            new = NewTopic(TOPIC, PARTITIONS, replication_factor=3, config={"min.insync.replicas": "2"})
            admin.create_topics([new], operation_timeout=20)[TOPIC].result(30)
            yield LoadedCluster(cluster, state)


@contextmanager
def read_by_a_group(loaded: LoadedCluster) -> Iterator[GroupMember]:
    """A group member that reads inside the block; at the end it has read every acknowledged record exactly once."""
    # A session that a slow machine does not expire: a member that is removed and rejoins reads records again, as in
    # Kafka.
    member = GroupMember("roller", loaded.cluster.bootstrap(), TOPIC, session_timeout_ms=45_000)
    member.start()
    try:
        yield member
        until(lambda: len(member.seen) >= len(loaded.ledger.acknowledged), "the group has read everything")
    finally:
        member.stop()
    assert member.contradictions == []
    assert member.repeated == 0
