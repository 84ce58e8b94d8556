"""Producers that stop between two requests, or hold a transaction open over many partitions: the coordinator ends what
has timed out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.coordinator.transaction.markers.marker_sender import GONE_AFTER_MS
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.system.transactions.requests import TransactionalRequests, end_offsets
from tests.system.wire import Wire, dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.spec("D5")]

WIDE = 1_000
_SHORT_MS = 1_000
_SETTINGS = {
    **QUICK,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "4",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """One broker; the topics of its coordinators exist."""
    with ProcessCluster(tmp_path_factory.mktemp("interrupted"), 1, overrides=_SETTINGS) as cluster:
        with dial(cluster) as wire:
            for key_type in (0, 1):
                message = FindCoordinatorRequest(coordinator_keys=["any"], key_type=key_type)
                until(partial(has_coordinator, wire, message), "a coordinator")
        yield cluster


def has_coordinator(wire: Wire, message: FindCoordinatorRequest) -> bool:
    """Whether the first key of the request has a coordinator."""
    return bool(wire.ask(ApiKey.FIND_COORDINATOR, 4, message).coordinators[0].error_code == Error.NONE)


@pytest.fixture
def wire(broker: ProcessCluster) -> Iterator[Wire]:
    with dial(broker) as connection:
        yield connection


def create(broker: ProcessCluster, topic: str, partitions: int = 1) -> None:
    """A topic whose partitions have leaders."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap()})
    admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=60)[topic].result(60)
    with dial(broker) as wire:
        until(lambda: -1 not in end_offsets(wire, topic, range(partitions), stable=False).values(), "all leaders")


def is_stable(wire: Wire, topic: str, partitions: range = range(1)) -> bool:
    """Whether no transaction is open in these partitions."""
    return end_offsets(wire, topic, partitions, stable=True) == end_offsets(wire, topic, partitions, stable=False)


@pytest.mark.parametrize("requests", range(6))
def test_a_producer_that_stops_after_any_request_is_aborted_and_fenced(
    broker: ProcessCluster, wire: Wire, requests: int
) -> None:
    topic = f"stops-{requests}"
    create(broker, topic)
    producer = TransactionalRequests(wire, topic, topic, _SHORT_MS)
    steps = (producer.init, producer.add, producer.produce, producer.add_offsets, producer.commit_offsets)
    assert [step() for step in steps[:requests]] == [Error.NONE] * requests
    until(lambda: is_stable(wire, topic), "the abort")
    former = producer.producer
    next_one = TransactionalRequests(wire, topic, topic)
    assert next_one.init() is Error.NONE
    if requests:
        assert producer.end(committed=True) is Error.PRODUCER_FENCED
        assert former < next_one.producer
    assert producer.committed_offset() == -1
    assert [next_one.add(), next_one.produce(), next_one.end(committed=True)] == [Error.NONE] * 3
    until(lambda: is_stable(wire, topic), "the commit")


def test_a_transaction_that_has_timed_out_cannot_be_committed(broker: ProcessCluster, wire: Wire) -> None:
    create(broker, "timed-out")
    producer = TransactionalRequests(wire, "timed-out", "timed-out", _SHORT_MS)
    assert [producer.init(), producer.add(), producer.produce()] == [Error.NONE] * 3
    until(lambda: is_stable(wire, "timed-out"), "the abort")
    assert producer.end(committed=True) is Error.PRODUCER_FENCED
    assert producer.produce() is Error.INVALID_PRODUCER_EPOCH
    assert producer.add() is Error.PRODUCER_FENCED


def test_an_end_that_is_repeated_changes_nothing(broker: ProcessCluster, wire: Wire) -> None:
    create(broker, "ends")
    producer = TransactionalRequests(wire, "ends", "ends")
    assert [producer.init(), producer.add(), producer.produce()] == [Error.NONE] * 3
    assert producer.end(committed=True) is Error.NONE
    until(lambda: is_stable(wire, "ends"), "the commit")
    end = end_offsets(wire, "ends", [0], stable=True)
    # Readers see the marker a moment before the coordinator ends the transaction.
    until(lambda: producer.end(committed=True) is Error.NONE, "the end of the transaction")
    assert producer.end(committed=False) is Error.INVALID_TXN_STATE
    assert end_offsets(wire, "ends", [0], stable=False) == end


def test_a_topic_that_is_deleted_in_a_transaction_does_not_hold_up_its_end(broker: ProcessCluster, wire: Wire) -> None:
    create(broker, "deleted")
    create(broker, "kept")
    producer = TransactionalRequests(wire, "deletes", "deleted")
    assert [producer.init(), producer.add(), producer.produce()] == [Error.NONE] * 3
    beside = TransactionalRequests(wire, "deletes", "kept")
    beside.producer = producer.producer
    assert [beside.add(), beside.produce()] == [Error.NONE] * 2
    admin = AdminClient({"bootstrap.servers": broker.bootstrap()})
    admin.delete_topics(["deleted"], operation_timeout=60)["deleted"].result(60)
    until(lambda: end_offsets(wire, "deleted", [0], stable=False) == {0: -1}, "the metadata without the topic")
    assert beside.end(committed=True) is Error.NONE
    # Without the deletion, the coordinator would wait for the partition for longer than this.
    until(lambda: beside.add() is Error.NONE, "the end of the transaction", timeout_s=GONE_AFTER_MS / 1_000)
    assert [beside.produce(), beside.end(committed=False)] == [Error.NONE] * 2
    until(lambda: is_stable(wire, "kept"), "the abort")


def test_offsets_of_a_cluster_without_their_topic_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 1, overrides=_SETTINGS) as cluster, dial(cluster) as wire:
        message = FindCoordinatorRequest(coordinator_keys=["any"], key_type=1)
        until(partial(has_coordinator, wire, message), "a coordinator")
        create(cluster, "first")
        producer = TransactionalRequests(wire, "first", "first")
        assert [producer.init(), producer.add_offsets(), producer.end(committed=False)] == [Error.NONE] * 3
        until(lambda: producer.add_offsets() is Error.NONE, "the end", timeout_s=GONE_AFTER_MS / 1_000)
        assert producer.commit_offsets() is Error.NONE
        assert producer.end(committed=True) is Error.NONE
        assert producer.committed_offset() == 7


def test_a_transaction_over_a_thousand_partitions(broker: ProcessCluster, wire: Wire) -> None:
    create(broker, "wide", WIDE)
    producer = TransactionalRequests(wire, "wide", "wide")
    everywhere = range(WIDE)
    assert [producer.init(), producer.add(everywhere), producer.produce(everywhere)] == [Error.NONE] * 3
    assert set(end_offsets(wire, "wide", everywhere, stable=True).values()) == {0}
    assert producer.end(committed=True) is Error.NONE
    until(lambda: set(end_offsets(wire, "wide", everywhere, stable=True).values()) == {2}, "a marker in each partition")
