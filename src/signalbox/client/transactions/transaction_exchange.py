"""The requests of transactions on the wire: built from a TransactionRequest, read into a TransactionResponse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import (
    ConsumerGroupMetadata,
    TransactionRequest,
    TransactionResponse,
)
from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.end_txn import EndTxnRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

NO_PRODUCER = ProducerIdentity(-1, -1, None)
_ADDED_BY_NAME = 3  # the newest version of AddPartitionsToTxn for clients

MAX_VERSIONS: dict[tuple[Step, bool], int] = {
    (Step.PRODUCE, False): 11,
    (Step.ADD_PARTITIONS, False): _ADDED_BY_NAME,
    (Step.COMMIT_OFFSETS, False): 4,
    (Step.COMMIT_OFFSETS, True): 5,  # the newest one with topic names
    (Step.COMMIT, False): 4,
    (Step.ABORT, False): 4,
}
"""The newest version of a request, by whether transaction version 2 is used; without a row the newest of all."""

MIN_VERSIONS: dict[Step, int] = {Step.PRODUCE: 12, Step.COMMIT_OFFSETS: 5, Step.COMMIT: 5, Step.ABORT: 5}
"""The oldest version of a request that has the meaning of transaction version 2."""


def message_of(request: TransactionRequest, transactional_id: str, timeout_ms: int) -> Any:
    """The protocol message of any step but the lookups."""
    identity = request.identity or NO_PRODUCER
    producer: dict[str, Any] = {"producer_id": identity.producer_id, "producer_epoch": identity.producer_epoch}
    if request.step is Step.INIT:
        return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, **producer)
    if request.step is Step.ADD_PARTITIONS:
        return _add_partitions(transactional_id, identity, request.partitions)
    group = request.group or ConsumerGroupMetadata("")
    if request.step is Step.ADD_OFFSETS:
        return AddOffsetsToTxnRequest(transactional_id=transactional_id, group_id=group.group_id, **producer)
    if request.step is Step.COMMIT_OFFSETS:
        return TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group.group_id,
            generation_id_or_member_epoch=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=_offset_rows(request),
            **producer,
        )
    return EndTxnRequest(transactional_id=transactional_id, committed=request.step is Step.COMMIT, **producer)


def _add_partitions(name: str, identity: ProducerIdentity, partitions: Iterable[TopicPartition]) -> Any:
    message_type = AddPartitionsToTxnRequest
    return message_type(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[
            message_type.AddPartitionsToTxnTopic(name=topic, partitions=numbers)
            for topic, numbers in numbers_by_topic(partitions).items()
        ],
    )


def _offset_rows(request: TransactionRequest) -> list[Any]:
    message_type = TxnOffsetCommitRequest

    def row(number: int, committed: CommittedOffset) -> Any:
        return message_type.TxnOffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            committed_metadata=committed.metadata or "",
        )

    return [
        message_type.TxnOffsetCommitRequestTopic(
            name=topic, partitions=[row(number, request.offsets[TopicPartition(topic, number)]) for number in numbers]
        )
        for topic, numbers in numbers_by_topic(request.offsets).items()
    ]


def response_of(request: TransactionRequest, response: Any, cluster_id: str | None) -> TransactionResponse:
    """What the manager needs of a protocol message. A partition without a row has UNKNOWN_SERVER_ERROR."""
    if request.step is Step.ADD_PARTITIONS:
        rows = {
            TopicPartition(topic.name, row.partition_index): Error.of(row.partition_error_code)
            for topic in response.results_by_topic_v3_and_below
            for row in topic.results_by_partition
        }
        return TransactionResponse(errors=_complete(rows, request.partitions))
    if request.step is Step.COMMIT_OFFSETS:
        rows = {
            TopicPartition(topic.name, row.partition_index): Error.of(row.error_code)
            for topic in response.topics
            for row in topic.partitions
        }
        return TransactionResponse(errors=_complete(rows, request.offsets))
    error, producer_id = Error.of(response.error_code), getattr(response, "producer_id", -1)
    if error != Error.NONE or producer_id < 0:
        return TransactionResponse(error=error)
    identity = ProducerIdentity(producer_id, response.producer_epoch, cluster_id, transactional=True)
    return TransactionResponse(identity=identity)


def _complete(rows: dict[TopicPartition, Error], partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Error]:
    return {partition: rows.get(partition, Error.UNKNOWN_SERVER_ERROR) for partition in partitions}
