"""Ten thousand open transactions with records in one partition: no other producer waits, and after a SIGKILL of the
coordinator the next one ends them all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_response_header
from signalbox.protocol.message import Message
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.system.transactions.requests import TransactionalRequests, end_offsets
from tests.system.transactions.test_interrupted_transactions import create, has_coordinator, is_stable
from tests.system.wire import Wire, dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow, pytest.mark.spec("D5")]

COUNT, AT_ONCE = 10_000, 500
TIMEOUT_MS = 1_000
ABORT_INTERVAL = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
_SETTINGS = {**QUICK, "transaction.state.log.num.partitions": "4"}

Producers = dict[str, tuple[int, int]]


def ask_all(wire: Wire, key: ApiKey, version: int, requests: Sequence[Message]) -> Iterator[Any]:
    """The responses; all requests are sent before the first one is read."""
    wire.send(b"".join(wire.request(key, version, request.encode(version)) for request in requests))
    for _ in requests:
        frame = wire.frame()
        _, offset = decode_response_header(frame, key, version)
        yield API_TABLE[key].response.decode(frame, version, offset)


def open_transactions(wire: Wire, peer: Wire, topic: str, names: Sequence[str]) -> Producers:
    """Opens a transaction of each name. `peer` is a connection as brokers have it, on which one request adds the
    partitions of many transactions."""
    kind = AddPartitionsToTxnRequest
    requests = [InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=TIMEOUT_MS) for name in names]
    responses = list(ask_all(wire, ApiKey.INIT_PRODUCER_ID, 5, requests))
    assert {response.error_code for response in responses} == {Error.NONE}
    producers = {
        name: (response.producer_id, response.producer_epoch) for name, response in zip(names, responses, strict=True)
    }
    transactions = [
        kind.AddPartitionsToTxnTransaction(
            transactional_id=name,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            topics=[kind.AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )
        for name, (producer_id, producer_epoch) in producers.items()
    ]
    added = peer.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 5, kind(transactions=transactions))
    results = [row for result in added.results_by_transaction for row in result.topic_results]
    assert {partition.partition_error_code for row in results for partition in row.results_by_partition} == {0}
    return producers


def produce(wire: Wire, topic: str, producers: Producers) -> None:
    """One record in each transaction."""
    requests = []
    for name, (producer_id, producer_epoch) in producers.items():
        batch = encode_batch(
            [Record(value=name.encode())],
            timestamp_ms=time.time_ns() // 1_000_000,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=0,
            transactional=True,
        )
        rows = [ProduceRequest.PartitionProduceData(index=0, records=batch)]
        topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=rows)]
        requests.append(ProduceRequest(transactional_id=name, acks=-1, timeout_ms=30_000, topic_data=topics))
    for response in ask_all(wire, ApiKey.PRODUCE, 11, requests):
        assert response.responses[0].partition_responses[0].error_code == Error.NONE


def transactions_in(wire: Wire, state: str) -> set[str]:
    """The transactional ids of this state whose name begins with `many-`; empty while the coordinator loads."""
    response = wire.ask(ApiKey.LIST_TRANSACTIONS, 2, ListTransactionsRequest(state_filters=[state]))
    assert response.error_code in (Error.NONE, Error.COORDINATOR_LOAD_IN_PROGRESS)
    return {row.transactional_id for row in response.transaction_states if row.transactional_id.startswith("many-")}


def records(cluster: ProcessCluster, topic: str, isolation_level: str) -> int:
    """How many records a consumer reads."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap(), "group.id": "none", "isolation.level": isolation_level,
         "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 2}
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = 0
    while True:
        message = consumer.poll(60)
        assert message is not None
        if message.error():
            consumer.close()
            return count
        count += 1


def commit_beside(wire: Wire, name: str) -> None:
    """The transactions of another producer, one after the other."""
    other = TransactionalRequests(wire, name, "beside")
    assert other.init() is Error.NONE
    for _ in range(10):
        until(lambda: other.add() is Error.NONE, "the end of the last transaction")
        assert [other.produce(), other.end(committed=True)] == [Error.NONE] * 2
    until(lambda: is_stable(wire, "beside"), "the commits of another producer")


def test_ten_thousand_open_transactions(tmp_path: Path) -> None:
    # None is aborted before the coordinator is killed, however long it takes to open them.
    with ProcessCluster(tmp_path, 1, overrides={**_SETTINGS, ABORT_INTERVAL: "3600000"}) as cluster:
        names = [f"many-{number}" for number in range(COUNT)]
        with dial(cluster) as wire, dial(cluster, listener="REPLICATION") as peer:
            message = FindCoordinatorRequest(coordinator_keys=["any"], key_type=1)
            until(partial(has_coordinator, wire, message), "a coordinator")
            create(cluster, "many")
            create(cluster, "beside")
            for start in range(0, COUNT, AT_ONCE):
                produce(wire, "many", open_transactions(wire, peer, "many", names[start : start + AT_ONCE]))
            commit_beside(wire, "before")
            assert transactions_in(wire, "Ongoing") == set(names)
            assert end_offsets(wire, "many", [0], stable=False) == {0: COUNT}
            assert end_offsets(wire, "many", [0], stable=True) == {0: 0}
        cluster.kill(1)
        cluster.configure(1, {ABORT_INTERVAL: "100"})
        cluster.start_broker(1)
        with dial(cluster) as wire:
            commit_beside(wire, "after")
            until(lambda: transactions_in(wire, "CompleteAbort") == set(names), "all aborts", timeout_s=240)
            until(lambda: end_offsets(wire, "many", [0], stable=True) == {0: 2 * COUNT}, "the last stable offset")
        assert records(cluster, "many", "read_uncommitted") == COUNT
        assert records(cluster, "many", "read_committed") == 0
