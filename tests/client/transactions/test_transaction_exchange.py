from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_exchange import MAX_VERSIONS, MIN_VERSIONS, message_of, response_of
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata, TransactionRequest
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from signalbox.protocol.messages.end_txn import EndTxnResponse
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse

ONE, OTHER = TopicPartition("t", 0), TopicPartition("u", 1)
IDENTITY = ProducerIdentity(7, 3, "c", transactional=True)


def request_of(step: Step, **fields: Any) -> TransactionRequest:
    return TransactionRequest(step=step, node_id=1, identity=IDENTITY, **fields)


def message(step: Step, **fields: Any) -> Any:
    return message_of(request_of(step, **fields), "id", 60_000)


def test_producer_ids_are_asked_for_with_the_present_one_to_get_a_higher_epoch() -> None:
    first = message_of(TransactionRequest(step=Step.INIT, node_id=1, identity=None), "id", 60_000)
    assert (first.transactional_id, first.transaction_timeout_ms) == ("id", 60_000)
    assert (first.producer_id, first.producer_epoch) == (-1, -1)
    higher = message(Step.INIT)
    assert (higher.producer_id, higher.producer_epoch) == (7, 3)


def test_partitions_are_added_by_topic() -> None:
    added = message(Step.ADD_PARTITIONS, partitions=frozenset({ONE, OTHER, TopicPartition("t", 2)}))
    rows = {row.name: row.partitions for row in added.v3_and_below_topics}
    assert (added.v3_and_below_transactional_id, rows) == ("id", {"t": [0, 2], "u": [1]})


def test_offsets_are_committed_for_a_member() -> None:
    group = ConsumerGroupMetadata("g", 4, "m", "i")
    committed = message(Step.COMMIT_OFFSETS, group=group, offsets={ONE: CommittedOffset(9, 2, None)})
    (row,) = committed.topics[0].partitions
    assert (row.committed_offset, row.committed_leader_epoch, row.committed_metadata) == (9, 2, "")
    assert (committed.group_id, committed.member_id, committed.group_instance_id) == ("g", "m", "i")
    assert committed.generation_id_or_member_epoch == 4
    assert message(Step.ADD_OFFSETS, group=group).group_id == "g"


def test_end_of_a_transaction() -> None:
    assert message(Step.COMMIT).committed
    assert not message(Step.ABORT).committed
    assert (message(Step.ABORT).producer_id, message(Step.ABORT).producer_epoch) == (7, 3)


def test_errors_by_partition_and_one_that_is_missing() -> None:
    kind = AddPartitionsToTxnResponse
    row = kind.AddPartitionsToTxnPartitionResult(
        partition_index=0, partition_error_code=Error.TOPIC_AUTHORIZATION_FAILED
    )
    topic = kind.AddPartitionsToTxnTopicResult(name="t", results_by_partition=[row])
    request = request_of(Step.ADD_PARTITIONS, partitions=frozenset({ONE, OTHER}))
    response = response_of(request, kind(results_by_topic_v3_and_below=[topic]), "c")
    assert response.errors == {ONE: Error.TOPIC_AUTHORIZATION_FAILED, OTHER: Error.UNKNOWN_SERVER_ERROR}
    committed = TxnOffsetCommitResponse
    part = committed.TxnOffsetCommitResponsePartition(partition_index=0, error_code=Error.ILLEGAL_GENERATION)
    offsets = committed(topics=[committed.TxnOffsetCommitResponseTopic(name="t", partitions=[part])])
    request = request_of(Step.COMMIT_OFFSETS, offsets={ONE: CommittedOffset(1, -1, None)})
    assert response_of(request, offsets, "c").errors == {ONE: Error.ILLEGAL_GENERATION}


def test_identity_in_a_response() -> None:
    given = response_of(request_of(Step.INIT), InitProducerIdResponse(producer_id=7, producer_epoch=4), "c")
    assert given.identity == ProducerIdentity(7, 4, "c", transactional=True)
    assert response_of(request_of(Step.COMMIT), EndTxnResponse(), "c").identity is None
    higher = response_of(request_of(Step.COMMIT), EndTxnResponse(producer_id=7, producer_epoch=5), "c")
    assert higher.identity == ProducerIdentity(7, 5, "c", transactional=True)
    rejected = response_of(request_of(Step.INIT), InitProducerIdResponse(error_code=Error.PRODUCER_FENCED), "c")
    assert (rejected.error, rejected.identity) == (Error.PRODUCER_FENCED, None)


@pytest.mark.parametrize("step", MIN_VERSIONS)
def test_versions_of_both_transaction_versions_do_not_overlap(step: Step) -> None:
    assert MAX_VERSIONS[step, False] < MIN_VERSIONS[step]
    assert MAX_VERSIONS.get((step, True), 99) >= MIN_VERSIONS[step]
