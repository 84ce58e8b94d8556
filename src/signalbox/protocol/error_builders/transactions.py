"""Requests to transaction coordinators, and offsets of transactions."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_builders import ErrorBuilder, FailedRequest

_TRANSACTIONS_BATCHED_FROM = 4


def _add_partitions_to_txn(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    if request.version >= _TRANSACTIONS_BATCHED_FROM:
        return response(error_code=code)
    topic, partition = response.AddPartitionsToTxnTopicResult, response.AddPartitionsToTxnPartitionResult
    return response(
        results_by_topic_v3_and_below=[
            topic(
                name=t.name,
                results_by_partition=[partition(partition_index=p, partition_error_code=code) for p in t.partitions],
            )
            for t in request.body.v3_and_below_topics
        ]
    )


def _txn_offset_commit(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.TxnOffsetCommitResponseTopic, response.TxnOffsetCommitResponsePartition
    return response(
        topics=[
            topic(
                name=t.name,
                topic_id=t.topic_id,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in request.body.topics
        ]
    )


def _describe_transactions(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    state = response.TransactionState
    return response(
        transaction_states=[state(transactional_id=name, error_code=code) for name in request.body.transactional_ids]
    )


BUILDERS: dict[ApiKey, ErrorBuilder] = {
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.DESCRIBE_TRANSACTIONS: _describe_transactions,
}
