from __future__ import annotations

import pytest
from tests.coordinator.bench import cache_with_topics

from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.offset_rows import COMMIT, TXN_COMMIT, OffsetRows, ResponseClasses, utf16_length
from signalbox.coordinator.group.offset_store import NO_EXPIRY, OffsetStore
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

pytestmark = pytest.mark.spec("D8")

COMMIT_REQUEST = OffsetCommitRequest(
    group_id="g",
    topics=[
        OffsetCommitRequest.OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=index, committed_metadata=metadata)
                for index, metadata in rows
            ],
        )
        for topic, rows in (("t", ((0, None), (1, "long"))), ("nowhere", ((0, ""),)))
    ],
)
TXN_REQUEST = TxnOffsetCommitRequest(
    group_id="g",
    topics=[
        TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
            name=topic.name,
            partitions=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                    partition_index=row.partition_index, committed_metadata=row.committed_metadata
                )
                for row in topic.partitions
            ],
        )
        for topic in COMMIT_REQUEST.topics
    ],
)


@pytest.mark.parametrize(
    ("classes", "request_", "producer_id"), [(COMMIT, COMMIT_REQUEST, -1), (TXN_COMMIT, TXN_REQUEST, 7)]
)
def test_both_requests_get_the_same_rows_and_records(
    classes: ResponseClasses, request_: OffsetCommitRequest | TxnOffsetCommitRequest, producer_id: int
) -> None:
    image = cache_with_topics().image
    store = OffsetStore()
    rows = OffsetRows(store, GroupSettings(offset_metadata_max_size=3))
    decision = rows.commit(classes, request_, image, (1000, NO_EXPIRY), producer_id)
    assert isinstance(decision.response, classes.response)
    assert [
        (topic.name, [(row.partition_index, row.error_code) for row in topic.partitions])
        for topic in decision.response.topics
    ] == [
        ("t", [(0, Error.NONE), (1, Error.OFFSET_METADATA_TOO_LARGE)]),
        ("nowhere", [(0, Error.UNKNOWN_TOPIC_OR_PARTITION)]),
    ]
    (record,) = decision.records
    assert record.value is not None
    assert (record.key.partition, record.value.commit_timestamp, record.producer_id) == (0, 1000, producer_id)
    assert [partition.partition for partition in store.known_or_coming("g")] == [0]
    assert decision.on_concluded is not None
    decision.on_concluded()
    assert store.known_or_coming("g") == []
    errors = [
        row.error_code
        for topic in classes.rejected(request_, image, Error.NOT_COORDINATOR).topics
        for row in topic.partitions
    ]
    assert errors == [Error.NOT_COORDINATOR, Error.NOT_COORDINATOR, Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_lengths_count_as_java_counts_them() -> None:
    assert [utf16_length(text) for text in ("", "abc", "äöü", "\U0001f600")] == [0, 3, 3, 2]
