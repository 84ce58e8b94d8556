"""TxnOffsetCommit 0–6: offsets in a producer's transaction. They are pending until the transaction ends (KIP-98).

The group is checked as for OffsetCommit, with two differences: a producer that gives no member and generation is
accepted in every state (versions 0 to 2), and a rebalance rejects no member of the current generation (KIP-447). The
records are a batch of the transaction; the marker in `__consumer_offsets` makes them count or discards them.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.group_records import offset_record
from signalbox.coordinator.group.offset_commit import existence_error, utf16_length
from signalbox.coordinator.group.offset_store import OffsetStore
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.group_records import OffsetCommitValue
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

_Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
_Partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition


def rejected_txn_commit(request: TxnOffsetCommitRequest, image: MetadataImage, error: Error) -> TxnOffsetCommitResponse:
    """A response with `error` for every partition of the request that `image` has."""

    def error_of(topic: _Topic, partition: _Partition) -> Error:
        return existence_error(image, topic.name, topic.topic_id, partition.partition_index) or error

    return _response(request, error_of)


def _response(
    request: TxnOffsetCommitRequest, error_of: Callable[[_Topic, _Partition], Error]
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=error_of(topic, partition)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class TxnOffsetCommit:
    def __init__(self, groups: GroupMap, offsets: OffsetStore, settings: GroupSettings) -> None:
        self._groups = groups
        self._offsets = offsets
        self._settings = settings

    def commit(
        self, request: TxnOffsetCommitRequest, now_ms: int, image: MetadataImage, guard: object | None = None
    ) -> Decision[TxnOffsetCommitResponse]:
        """Raises KafkaError if the group rejects the whole commit. `guard`: of the transaction's verification."""
        self._check(request)
        records: list[CoordinatorRecord] = []

        def commit_one(topic: _Topic, partition: _Partition) -> Error:
            index, metadata = partition.partition_index, partition.committed_metadata or ""
            error = existence_error(image, topic.name, topic.topic_id, index)
            if error is Error.NONE and utf16_length(metadata) > self._settings.offset_metadata_max_size:
                error = Error.OFFSET_METADATA_TOO_LARGE
            if error is Error.NONE:
                value = OffsetCommitValue(
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=metadata,
                    commit_timestamp=now_ms,
                )
                record = offset_record(request.group_id, topic.name, index, value)
                records.append(record._replace(producer_id=request.producer_id))
            return error

        response = _response(request, commit_one)
        if not records:
            return Decision(response)
        settle = self._offsets.begin(request.group_id, [_partition_of(record) for record in records])
        return Decision(
            response,
            records,
            on_concluded=settle,
            producer=(request.producer_id, request.producer_epoch),
            guard=guard,
        )

    def _check(self, request: TxnOffsetCommitRequest) -> None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch >= 0:
                raise KafkaError(Error.ILLEGAL_GENERATION)
            return  # the first offset creates the group
        error = group.check_txn_offset_commit(request)
        if error is not Error.NONE:
            raise KafkaError(error)


def _partition_of(record: CoordinatorRecord) -> TopicPartition:
    return TopicPartition(record.key.topic, record.key.partition)
