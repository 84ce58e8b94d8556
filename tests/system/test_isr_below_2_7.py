"""Signalbox brokers below inter.broker.protocol.version 2.7, on both stores: leaders store their ISR themselves, and a
broker that is no longer the leader stores nothing (SPEC M2, M3, F17). The stores' own histories show which session
wrote an entry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.stores import STORES, Store
from tools.chaos.writers.one_writer import Written

from signalbox.common.inter_broker_protocol import INTER_BROKER_PROTOCOL_KEY
from signalbox.metadata import layout
from signalbox.metadata.entries.partition_state import decode_partition_state
from signalbox.metadata.layout import ISR_CHANGE_PREFIX, partition_state_path
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster
from tests.system import provision
from tests.system.clusters import BROKERS, QUICK
from tests.system.loaded import TOPIC, LoadedCluster
from tests.system.test_zookeeper_isr import shown
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.spec("M2", "M3", "F17")]

stores = pytest.mark.parametrize("name", ["zookeeper", "sqlite"])


@contextmanager
def below(folder: Path, name: str, session_s: int) -> Iterator[tuple[LoadedCluster, Store]]:
    """A running cluster and its store."""
    if name == "zookeeper":
        provision.zookeeper()
    with STORES[name](folder, session_s * 1000) as store:
        overrides = {**QUICK, **store.settings, INTER_BROKER_PROTOCOL_KEY: "2.6", "replica.lag.time.max.ms": "3000"}
        first_port = consecutive_ports(3 * len(BROKERS), Random())
        cluster = ProcessCluster(
            folder / "cluster", len(BROKERS), first_port=first_port, overrides=overrides, module=store.module
        )
        with cluster, store.state() as state:
            yield LoadedCluster(cluster, state), store


def create(loaded: LoadedCluster, *replicas: list[int]) -> None:
    """The topic of the load with these replicas; the first replica of each partition leads."""
    new = NewTopic(TOPIC, len(replicas), replica_assignment=[*replicas], config={"min.insync.replicas": "2"})
    admin = AdminClient({"bootstrap.servers": loaded.cluster.bootstrap(), "log_level": 2})
    admin.create_topics([new], operation_timeout=20)[TOPIC].result(30)


def isrs(loaded: LoadedCluster) -> set[tuple[int, ...]]:
    """The ISRs that the store has for the topic."""
    found = loaded.state.below(layout.partitions_path(TOPIC))
    states = [
        decode_partition_state(path, entry.data, entry.version)
        for path, entry in found.items()
        if layout.partition_of_state(path) is not None
    ]
    return {tuple(sorted(state.isr)) for state in states}


def is_stored(loaded: LoadedCluster, members: tuple[int, ...]) -> bool:
    return isrs(loaded) == {members}


def is_everywhere(loaded: LoadedCluster, members: tuple[int, ...], partitions: int = 3) -> bool:
    """True if all brokers that are not paused return this ISR for all partitions."""
    awake = [node_id for node_id, broker in loaded.cluster.brokers.items() if not broker.stopped_by_signal]
    expected = dict.fromkeys(awake, members)
    return all(shown(loaded.cluster, number, TOPIC) == expected for number in range(partitions))


def sessions_of(written: list[Written]) -> dict[int, list[int]]:
    """Each broker's sessions, in the order in which it registered."""
    found: dict[int, list[int]] = {}
    for each in written:
        folder, _, broker = each.path.rpartition("/")
        known = [session for sessions in found.values() for session in sessions]
        if folder == layout.BROKER_IDS and each.session_id not in known:
            found.setdefault(int(broker), []).append(each.session_id)
    return found


def writers_of(written: list[Written], partition: int) -> list[int]:
    """The sessions that wrote a partition's state, one for each write."""
    return [each.session_id for each in written if each.path == partition_state_path(TOPIC, partition)]


@stores
def test_leaders_store_their_isr_and_notify_of_it(tmp_path: Path, name: str) -> None:
    """A follower is paused and resumed within its session, so that only its leaders notice. Then the cluster moves to
    AlterPartition, broker by broker."""
    with below(tmp_path, name, session_s=60) as (loaded, store):
        controller = loaded.controller()
        follower, other = (each for each in BROKERS if each != controller)
        led = [[controller, other, follower], [other, controller, follower], [other, follower, controller]]
        create(loaded, *led)
        terms = loaded.state.controller_epoch()
        awake = tuple(sorted((controller, other)))
        with loaded.load():
            for change, members in ((loaded.cluster.pause, awake), (loaded.cluster.resume, BROKERS)):
                change(follower)
                until(partial(is_stored, loaded, members), f"{members} in the store")
                until(partial(is_everywhere, loaded, members), f"{members} on all brokers")
                until(lambda: loaded.state.names(layout.ISR_CHANGES) == [], "no notification any more")
                loaded.wait_for_more(300)
            assert loaded.state.controller_epoch() == terms
            written = list(store.history())
            for node_id in BROKERS:
                loaded.roll({node_id: {INTER_BROKER_PROTOCOL_KEY: "3.9"}})
        loaded.check_records()
    sessions = {broker: first for broker, (first, *_) in sessions_of(written).items()}
    for number, (leader, *_) in enumerate(led):
        maker, *changes = writers_of(written, number)
        assert maker == sessions[controller]
        assert len(changes) >= 2
        assert set(changes) == {sessions[leader]}, "the leader alone"
    notifiers = [each.session_id for each in written if each.path.startswith(ISR_CHANGE_PREFIX)]
    assert set(notifiers) == {sessions[controller], sessions[other]}
    by_other = notifiers.count(sessions[other])
    assert by_other >= 1
    assert len(notifiers) // 2 - by_other >= 1, "by the controller as a leader; it has also removed all of them"


@stores
def test_a_leader_that_was_replaced_while_paused_stores_nothing(tmp_path: Path, name: str) -> None:
    with below(tmp_path, name, session_s=6) as (loaded, store):
        controller = loaded.controller()
        sleeper, other = (each for each in BROKERS if each != controller)
        create(loaded, [sleeper, other, controller], [sleeper, controller, other], [other, sleeper, controller])
        with loaded.load():
            loaded.cluster.pause(sleeper)
            until(lambda: sleeper not in loaded.state.leaders(TOPIC).values(), "other leaders")
            loaded.wait_for_more(300)
            if loaded.cluster.brokers[sleeper].running:
                loaded.cluster.resume(sleeper)
            else:  # paused inside a transaction of the store: the other brokers may kill it
                loaded.cluster.start_broker(sleeper)
            loaded.wait_until_healthy()
            loaded.wait_for_more(300)
            written = list(store.history())
        loaded.check_records()
    sessions = sessions_of(written)
    assert len(sessions[sleeper]) > 1, "it registered again"
    for number in (0, 1):
        writers = writers_of(written, number)
        deposed_at = [at for at, session in enumerate(writers) if session == sessions[controller][0]][1]
        assert sessions[sleeper][0] not in writers[deposed_at:]
        assert set(writers[deposed_at:]) & {sessions[other][0], sessions[controller][0]}


@stores
def test_a_rolling_restart_does_not_wait_for_stopped_brokers(tmp_path: Path, name: str) -> None:
    """A leader that adds a broker in controlled shutdown to the ISR again would wait for it until it is found to
    lag."""
    with below(tmp_path, name, session_s=60) as (loaded, _):
        create(loaded, *([*BROKERS[at:], *BROKERS[:at]] for at in range(3)))
        with loaded.load():
            for node_id in BROKERS:
                loaded.roll({node_id: {}})
        assert loaded.longest_silence_s() < 3
        loaded.check_records()
