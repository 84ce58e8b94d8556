"""Produce on a real leader: required rights, form of errors, acknowledgements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signalbox.broker.api_request import NO_RESPONSE, CloseConnection
from signalbox.broker.handlers.records import produce
from signalbox.broker.handlers.records.produce import ProduceHandler
from signalbox.broker.transactions.transaction_verifier import TransactionVerifier
from signalbox.broker.transactions.transactional_produce import TransactionalProduce
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of
from tests.broker.handlers.running_broker import RunningBroker, batch
from tests.broker.transactions.test_transaction_verifier import RecordedChannels
from tests.replication.memory_cluster import TOPIC, MemoryCluster
from tests.waiting import until

pytestmark = pytest.mark.spec("D1")

Partition = ProduceRequest.PartitionProduceData


def topic(name: str, *partitions: tuple[int, Any], topic_id: bytes = b"\0" * 16) -> Any:
    data = [Partition(index=index, records=records) for index, records in partitions]
    return ProduceRequest.TopicProduceData(name=name, topic_id=topic_id, partition_data=data)


class AnsweringCoordinator(RecordedChannels):
    """Answers each request soon: with `errors`, by partition."""

    def __init__(self, errors: dict[TopicPartition, Error] | None = None) -> None:
        super().__init__()
        self.errors = errors or {}

    def send(self, broker_id: int, request: Any, on_response: Callable[[Any], None]) -> None:
        super().send(broker_id, request, on_response)
        asyncio.get_running_loop().call_soon(self.answer, len(self.sent) - 1, self.errors)


class WithoutTransactionalIds(AllowAllAuthorizer):
    """Allows everything but the use of transactional ids."""

    def authorize(self, context: RequestContext, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        return kind is not ResourceType.TRANSACTIONAL_ID


def ask(
    running_broker: RunningBroker,
    *topics: Any,
    version: int = 12,
    authorizer: Any = ALLOW_ALL,
    coordinator: RecordedChannels | None = None,
    **more: Any,
) -> Any:
    components = running_broker.components
    transactions = None
    if coordinator is not None:
        verifier = TransactionVerifier(coordinator, lambda transactional_id: 1)
        transactions = TransactionalProduce(components.data.replicas, verifier)
    handler = ProduceHandler(components.data.replicas, components.cache, authorizer, transactions)
    body = ProduceRequest(topic_data=list(topics), **{"acks": -1, "timeout_ms": 5000, **more})
    request = request_of(body, version)
    for asked in request.body.topic_data:
        for partition in asked.partition_data:
            if partition.records is not None:
                partition.records = memoryview(bytearray(partition.records))  # as the network layer passes it
    return running_broker.answer(handler, request)


def found(response: Any) -> list[tuple[str, int, int, int]]:
    return [(t.name, p.index, p.error_code, p.base_offset) for t in response.responses for p in t.partition_responses]


@pytest.mark.parametrize("version", range(3, 13))
@pytest.mark.parametrize("acks", [-1, 1])
def test_offsets_are_given_out(running_broker: RunningBroker, version: int, acks: int) -> None:
    name = f"pr-{version}-{acks}"
    running_broker.create_topic(name)
    assert found(ask(running_broker, topic(name, (0, batch(b"a", b"b"))), version=version, acks=acks)) == [
        (name, 0, 0, 0)
    ]
    assert found(ask(running_broker, topic(name, (0, batch(b"c"))), version=version, acks=acks)) == [(name, 0, 0, 2)]


def test_by_id_from_version_13(running_broker: RunningBroker) -> None:
    running_broker.create_topic("pr-id")
    topic_id = running_broker.topic_id("pr-id")
    response = ask(running_broker, topic("", (0, batch(b"a")), topic_id=topic_id), version=13)
    assert (response.responses[0].topic_id, response.responses[0].partition_responses[0].error_code) == (topic_id, 0)
    [unknown] = ask(running_broker, topic("", (0, batch(b"a")), topic_id=b"\7" * 16), version=13).responses
    assert (unknown.topic_id, unknown.partition_responses[0].error_code) == (b"\7" * 16, Error.UNKNOWN_TOPIC_ID)


def test_each_partition_has_its_own_error_in_the_order_of_the_request(running_broker: RunningBroker) -> None:
    running_broker.create_topic("pr-a")
    running_broker.create_topic("pr-b")
    response = ask(
        running_broker,
        topic("pr-b", (0, batch(b"x")), (7, batch(b"x"))),
        topic("pr-nope", (0, batch(b"x"))),
        topic("pr-a", (0, batch(b"x")), (-1, batch(b"x"))),
        authorizer=acl(*(("alice", "WRITE", name) for name in ("pr-a", "pr-nope"))),
    )
    assert [(name, index, code) for name, index, code, _ in found(response)] == [
        ("pr-b", 0, Error.TOPIC_AUTHORIZATION_FAILED),
        ("pr-b", 7, Error.TOPIC_AUTHORIZATION_FAILED),
        ("pr-nope", 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("pr-a", 0, Error.NONE),
        ("pr-a", -1, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize("records", [None, b"", b"\0" * 61, b"garbage"])
@pytest.mark.parametrize("version", [3, 8, 12])
def test_records_that_are_none(running_broker: RunningBroker, records: Any, version: int) -> None:
    running_broker.create_topic("pr-bad")
    [(_, _, code, offset)] = found(ask(running_broker, topic("pr-bad", (0, records)), version=version))
    assert code in (Error.INVALID_RECORD, Error.CORRUPT_MESSAGE, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    assert offset == -1


def test_a_wrong_checksum_is_corrupt_and_the_next_partition_is_written(running_broker: RunningBroker) -> None:
    running_broker.create_topic("pr-crc", 2)
    broken = batch(b"a")
    broken[-1] ^= 1
    response = ask(running_broker, topic("pr-crc", (0, broken), (1, batch(b"b"))))
    assert [code for _, _, code, _ in found(response)] == [Error.CORRUPT_MESSAGE, 0]


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acks_that_are_none(running_broker: RunningBroker, acks: int) -> None:
    response = ask(running_broker, topic("pr-a", (0, batch(b"x"))), acks=acks)
    assert [code for _, _, code, _ in found(response)] == [Error.INVALID_REQUIRED_ACKS]


def test_transactions_are_rejected(running_broker: RunningBroker) -> None:
    response = ask(running_broker, topic("pr-a", (0, batch(b"x"))), transactional_id="tx")
    assert [code for _, _, code, _ in found(response)] == [Error.UNSUPPORTED_VERSION]


def test_without_acknowledgements(running_broker: RunningBroker) -> None:
    running_broker.create_topic("pr-0")
    assert ask(running_broker, topic("pr-0", (0, batch(b"a"))), acks=0) is NO_RESPONSE
    failed = ask(running_broker, topic("pr-0", (0, batch(b"a"))), topic("pr-nope", (0, batch(b"a"))), acks=0)
    assert isinstance(failed, CloseConnection)
    assert failed.reason == "produce with acks=0 failed for pr-nope-0: UNKNOWN_TOPIC_OR_PARTITION"
    rejected = ask(running_broker, topic("pr-0", (0, batch(b"a"))), acks=0, transactional_id="tx")
    assert isinstance(rejected, CloseConnection)


def test_nothing_to_produce(running_broker: RunningBroker) -> None:
    assert ask(running_broker).responses == []
    assert ask(running_broker, topic("pr-a")).responses[0].partition_responses == []


@pytest.mark.parametrize("version", [3, 6, 7, 12])
def test_zstd_needs_version_7(running_broker: RunningBroker, version: int) -> None:
    name = f"pr-zstd-{version}"
    running_broker.create_topic(name, 2)
    packed = encode_batch([Record(timestamp=1, value=b"v")], compression="zstd")
    response = ask(running_broker, topic(name, (0, packed), (1, batch(b"x"))), version=version)
    error = Error.UNSUPPORTED_COMPRESSION_TYPE if version < 7 else Error.NONE
    assert [code for _, _, code, _ in found(response)] == [error, 0]


def test_a_transactional_batch_is_rejected_without_a_transactional_id_too(running_broker: RunningBroker) -> None:
    running_broker.create_topic("pr-tx", 2)
    record = Record(timestamp=1, value=b"v")
    in_transaction = encode_batch([record], transactional=True, producer_id=5, producer_epoch=0, base_sequence=0)
    response = ask(running_broker, topic("pr-tx", (0, in_transaction), (1, batch(b"x"))))
    assert [code for _, _, code, _ in found(response)] == [Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 0]


def test_no_id_at_all_is_an_unknown_one(running_broker: RunningBroker) -> None:
    [nothing] = ask(running_broker, topic("", (0, batch(b"a"))), version=13).responses
    assert nothing.partition_responses[0].error_code == Error.UNKNOWN_TOPIC_ID
    assert [code for _, _, code, _ in found(ask(running_broker, topic("", (0, batch(b"a"))), version=12))] == [
        Error.UNKNOWN_TOPIC_OR_PARTITION
    ]


def test_of_a_partition_that_comes_twice_the_last_batch_counts(running_broker: RunningBroker) -> None:
    running_broker.create_topic("pr-twice", 2)
    response = ask(
        running_broker,
        topic("pr-twice", (0, batch(b"a", b"b")), (1, batch(b"c")), (0, batch(b"d", b"e"))),
        topic("pr-twice", (1, batch(b"f", b"g", b"h"))),
        topic("pr-twice", (1, batch(b"i"))),
    )
    assert found(response) == [("pr-twice", 0, 0, 0), ("pr-twice", 1, 0, 0)]
    again = ask(running_broker, topic("pr-twice", (0, batch(b"x")), (1, batch(b"x"))))
    assert [offset for _, _, _, offset in found(again)] == [2, 1]


@pytest.mark.parametrize("version", [7, 8, 12])
def test_bad_records_are_named_from_version_8_on(running_broker: RunningBroker, version: int) -> None:
    """KIP-467: the index of each record in its batch, and the reason."""
    name = f"pr-bad-{version}"
    running_broker.create_topic(name, cleanup_policy="compact")
    until(lambda: "compact" in running_broker.log_config(name).cleanup_policy, "the topic's config at its log")
    rows = [Record(key=key, value=b"v", timestamp=1) for key in (b"a", None, b"b", None)]
    [row] = ask(running_broker, topic(name, (0, encode_batch(rows))), version=version).responses[0].partition_responses
    assert (row.error_code, row.base_offset) == (Error.INVALID_RECORD, -1)
    if version >= 8:
        message = "Compacted topic cannot accept message without key."
        assert [(bad.batch_index, bad.batch_index_error_message) for bad in row.record_errors] == [
            (1, message),
            (3, message),
        ]
        assert "2 record errors in total" in row.error_message


# -- transactions


def in_transaction(*values: bytes, sequence: int = 0, producer_id: int = 5) -> bytes:
    return encode_batch(
        [Record(timestamp=1, value=value) for value in values],
        transactional=True,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
    )


@pytest.mark.spec("D5")
@pytest.mark.parametrize("version", [9, 11, 12])
def test_batches_of_a_verified_transaction_are_appended(running_broker: RunningBroker, version: int) -> None:
    name, coordinator = f"tx-{version}", AnsweringCoordinator()
    running_broker.create_topic(name, 2)
    for sequence in (0, 1):
        batches = [(index, in_transaction(b"v", sequence=sequence)) for index in (0, 1)]
        response = ask(running_broker, topic(name, *batches), version=version, coordinator=coordinator,
                       transactional_id="t")  # fmt: skip
        assert found(response) == [(name, 0, 0, sequence), (name, 1, 0, sequence)]
    partitions = [TopicPartition(name, 0), TopicPartition(name, 1)]
    assert [coordinator.transactions(number) for number in range(len(coordinator.sent))] == [
        [("t", 5, 0, version < 12, partitions)]
    ]
    replica = running_broker.components.data.replicas.partition(name, 0)
    assert replica is not None
    assert (replica.high_watermark, replica.last_stable_offset) == (2, 0)


@pytest.mark.spec("D5")
def test_partitions_that_are_not_in_the_transaction_are_rejected(running_broker: RunningBroker) -> None:
    running_broker.create_topic("tx-partly", 2)
    coordinator = AnsweringCoordinator({TopicPartition("tx-partly", 0): Error.TRANSACTION_ABORTABLE})
    batches = [(index, in_transaction(b"v")) for index in (0, 1)]
    response = ask(
        running_broker, topic("tx-partly", *batches), version=10, coordinator=coordinator, transactional_id="t"
    )
    assert [code for _, _, code, _ in found(response)] == [Error.INVALID_TXN_STATE, Error.NONE]
    [rejected, _] = response.responses[0].partition_responses
    assert rejected.error_message == "Partition was not added to the transaction"


@pytest.mark.spec("D5")
def test_transactional_ids_need_a_right(running_broker: RunningBroker) -> None:
    running_broker.create_topic("tx-right", 2)
    coordinator, denied = AnsweringCoordinator(), Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    options: Any = {
        "coordinator": coordinator, "authorizer": WithoutTransactionalIds(), "transactional_id": "t",
    }  # fmt: skip
    response = ask(running_broker, topic("tx-right", (0, in_transaction(b"v")), (1, batch(b"x"))), **options)
    assert [code for _, _, code, _ in found(response)] == [denied, denied]
    response = ask(running_broker, topic("tx-right", (1, batch(b"x"))), **options)
    assert [code for _, _, code, _ in found(response)] == [Error.NONE], "no transactional batch"
    assert coordinator.sent == []


@pytest.mark.spec("D5")
def test_a_request_has_batches_of_one_producer(running_broker: RunningBroker) -> None:
    running_broker.create_topic("tx-two", 2)
    batches = [(0, in_transaction(b"v")), (1, in_transaction(b"v", producer_id=6))]
    response = ask(running_broker, topic("tx-two", *batches), coordinator=AnsweringCoordinator(), transactional_id="t")
    assert [code for _, _, code, _ in found(response)] == [Error.INVALID_PRODUCER_ID_MAPPING] * 2


@pytest.mark.spec("D5")
def test_batches_that_wait_for_their_verification_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce, "MAX_AWAITING_VERIFICATION_BYTES", 100)
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    cluster.run()
    manager, channels = cluster.brokers[1].manager, RecordedChannels()
    transactions = TransactionalProduce(manager, TransactionVerifier(channels, {"t": 7}.get))
    handler = ProduceHandler(manager, cache_of(topics={TOPIC: {0: (1, [1])}}), ALLOW_ALL, transactions)

    def send(producer_id: int) -> Any:
        data = [topic(TOPIC, (0, in_transaction(b"v", producer_id=producer_id)))]
        body = ProduceRequest(transactional_id="t", acks=-1, timeout_ms=1_000, topic_data=data)
        return handler(request_of(body, 11))

    def error_of(response: Any) -> int:
        return int(response.result().responses[0].partition_responses[0].error_code)

    first, second = send(5), send(6)
    assert not first.is_done
    assert error_of(second) == Error.NOT_ENOUGH_REPLICAS
    channels.answer(0, {})
    cluster.run()
    assert error_of(first) == Error.NONE
    assert not send(6).is_done
