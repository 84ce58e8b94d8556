"""Replicas are reassigned while records are produced: no record is lost, repeated or reordered, whatever happens to the
controller."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Consumer

from signalbox.client.admin import AdminClient
from signalbox.common.ids import TopicPartition
from signalbox.storage.files.file_names import partition_of
from tests.system import provision
from tests.system.loaded import PARTITIONS, TOPIC, LoadedCluster, loaded_cluster
from tests.waiting import until

pytestmark = pytest.mark.timeout(240)
T = TypeVar("T")
BROKERS = 5


@pytest.fixture
def loaded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LoadedCluster]:
    store = getattr(request, "param", "sqlite")
    if store == "zookeeper":
        provision.zookeeper()
    with loaded_cluster(tmp_path / "cluster", store=store, brokers=BROKERS) as running:
        yield running


def ask(loaded: LoadedCluster, call: Callable[[AdminClient], Awaitable[T]]) -> T:
    """One admin call through the running brokers."""
    running = [broker for broker in loaded.cluster.brokers.values() if broker.running and not broker.stopped_by_signal]

    async def run() -> T:
        async with AdminClient.of(",".join(broker.address("CLIENT") for broker in running)) as admin:
            return await call(admin)

    return asyncio.run(run())


def reassign(loaded: LoadedCluster, *wanted: Sequence[int]) -> None:
    """Starts reassignments of partitions 0, 1, ..."""
    moves = {TopicPartition(TOPIC, number): brokers for number, brokers in enumerate(wanted)}
    for result in ask(loaded, lambda admin: admin.reassign_partitions(moves)).values():
        result.raise_for_error()


def moving(loaded: LoadedCluster) -> dict[TopicPartition, tuple[int, ...]]:
    found = ask(loaded, lambda admin: admin.list_reassignments())
    return {partition: move.adding + move.removing for partition, move in found.items()}


def wait_until_moved(loaded: LoadedCluster) -> None:
    until(lambda: not moving(loaded), "the end of all moves")


def holders(loaded: LoadedCluster, number: int) -> set[int]:
    """The brokers that have a folder of this partition of the topic."""
    wanted = TopicPartition(TOPIC, number)
    return {
        node_id
        for node_id, broker in loaded.cluster.brokers.items()
        if any(partition_of(each.name) == wanted for each in (broker.folder / "data").iterdir())
    }


def _are_holders(loaded: LoadedCluster, number: int, brokers: set[int]) -> bool:
    return holders(loaded, number) == brokers


def check_reassigned(loaded: LoadedCluster, *expected: Sequence[int]) -> None:
    """Checks replicas, folders and records."""
    replicas = loaded.state.replicas(TOPIC)
    assert [replicas[number] for number in range(PARTITIONS)] == [tuple(brokers) for brokers in expected]
    for number, brokers in enumerate(expected):
        until(partial(_are_holders, loaded, number, set(brokers)), f"{number} on {brokers}")
    loaded.check_records()


@pytest.mark.slow
@pytest.mark.spec("D3", "F2")
def test_replicas_move_under_load_and_get_new_targets(loaded: LoadedCluster) -> None:
    with loaded.load():
        for first in range(1, BROKERS + 1):
            a, b, c = ((first + step) % BROKERS + 1 for step in range(3))
            reassign(loaded, (a, b, c), (c, a, b), (b, a))
            wait_until_moved(loaded)
            loaded.wait_for_more(100)
        # New targets before the first ones are complete, and one back: the last request counts.
        reassign(loaded, (1, 2, 3), (1, 2, 3), (1, 2, 3))
        wait_until_moved(loaded)
        reassign(loaded, (3, 4, 5), (4, 5), (5, 4, 3, 2, 1))
        reassign(loaded, (5, 4, 1), (2, 3, 1))
        wait_until_moved(loaded)
        elected = ask(loaded, lambda admin: admin.elect_leaders())
        assert all(result.error == 0 for result in elected.values())
        assert loaded.state.leaders(TOPIC) == {0: 5, 1: 2, 2: 5}
        loaded.wait_for_more(300)
        assert loaded.longest_silence_s() < 3
    check_reassigned(loaded, (5, 4, 1), (2, 3, 1), (5, 4, 3, 2, 1))


@pytest.mark.slow
@pytest.mark.spec("D3", "M3")
@pytest.mark.parametrize("loaded", ["sqlite", "zookeeper"], indirect=True)
def test_a_new_controller_ends_the_moves_of_one_that_was_killed(loaded: LoadedCluster) -> None:
    with loaded.load():
        controller = loaded.controller()
        a, b, c, slow = (each for each in range(1, BROKERS + 1) if each != controller)
        reassign(loaded, (a, b, controller), (b, c, controller), (c, a, b))
        wait_until_moved(loaded)
        loaded.wait_for_more(100)
        # A new replica that does not fetch yet keeps all three reassignments in progress.
        loaded.cluster.pause(slow)
        reassign(loaded, (slow, a, b), (slow, b, c), (slow, a, b))
        assert set(moving(loaded)) == {TopicPartition(TOPIC, number) for number in range(PARTITIONS)}
        loaded.cluster.kill(controller)
        until(lambda: loaded.state.controller_id() not in (controller, -1), "a live controller")
        take_back = {TopicPartition(TOPIC, 2): None}
        [taken_back] = ask(loaded, lambda admin: admin.reassign_partitions(take_back)).values()
        taken_back.raise_for_error()
        loaded.cluster.resume(slow)
        wait_until_moved(loaded)
        assert set(holders(loaded, 0)) >= {controller}, "it was away when its replica was removed"
        loaded.wait_for_more(300)
        loaded.cluster.start_broker(controller)
        loaded.wait_until_healthy()
    check_reassigned(
        loaded, (slow, a, b), (slow, b, c), (a, b, c)
    )  # cancelled: remaining replicas come first, as in Kafka


@pytest.mark.slow
@pytest.mark.spec("D3")
def test_brokers_that_restart_on_the_way_do_not_stop_it(loaded: LoadedCluster) -> None:
    with loaded.load():
        reassign(loaded, (1, 2, 3), (2, 3, 1), (3, 1, 2))
        wait_until_moved(loaded)
        reassign(loaded, (4, 5, 1), (5, 4, 2), (4, 5, 3))
        loaded.cluster.kill(4)
        loaded.wait_for_more(100)
        loaded.cluster.start_broker(4)
        assert loaded.cluster.stop_broker(5) == 0
        loaded.cluster.start_broker(5)
        wait_until_moved(loaded)
        loaded.wait_until_healthy()
    check_reassigned(loaded, (4, 5, 1), (5, 4, 2), (4, 5, 3))


@pytest.mark.slow
@pytest.mark.spec("D3")
def test_a_group_goes_on_while_the_partitions_of_its_offsets_move(loaded: LoadedCluster) -> None:
    settings = {
        "bootstrap.servers": loaded.cluster.bootstrap(),
        "group.id": "moved",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 2,
    }

    def read(consumer: Consumer, count: int) -> dict[tuple[int | None, int | None], bytes | None]:
        """Reads so many records, by partition and offset, and commits."""
        found: dict[tuple[int | None, int | None], bytes | None] = {}
        deadline = time.monotonic() + 60
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} records"
            for message in consumer.consume(100, 0.2):
                assert message.error() is None
                found[message.partition(), message.offset()] = message.value()
        until(lambda: not any(each.error for each in consumer.commit(asynchronous=False)), "a commit")
        return found

    with loaded.load():
        consumer = Consumer(settings)
        consumer.subscribe([TOPIC])
        found = read(consumer, 200)
        replicas = loaded.state.replicas("__consumer_offsets")
        moves = {
            TopicPartition("__consumer_offsets", number): [each % BROKERS + 1 for each in brokers]
            for number, brokers in replicas.items()
        }
        for result in ask(loaded, lambda admin: admin.reassign_partitions(moves)).values():
            result.raise_for_error()
        found |= read(consumer, 600)
        wait_until_moved(loaded)
        assert loaded.state.replicas("__consumer_offsets") == {
            partition.partition: tuple(brokers) for partition, brokers in moves.items()
        }
        found |= read(consumer, 600)
        consumer.close()
        successor = Consumer(settings)
        successor.subscribe([TOPIC])
        again = read(successor, 300)
        successor.close()
        assert not again.keys() & found.keys(), "what was committed is not read again"
    loaded.check_records()
