"""OffsetCommit 2–10: stores the offsets of a member, or of a client that assigns partitions itself.

The group is checked once (an error is then returned for every partition that exists), the length of the metadata and
whether the partition exists per partition: by topic id if the request has one (version 10), else by name. The handler
checks that topics may be read, and fills in the names of topic ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision
from signalbox.coordinator.group.group import GroupKind, GroupType
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.group_records import offset_record
from signalbox.coordinator.group.offset_store import NO_EXPIRY, OffsetStore
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.group_records import OffsetCommitValue
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

GROUP_ID_NOT_FOUND_FROM = 9
NO_RETENTION = -1

_Topic = OffsetCommitRequest.OffsetCommitRequestTopic
_Partition = OffsetCommitRequest.OffsetCommitRequestPartition


def rejected_commit(request: OffsetCommitRequest, image: MetadataImage, error: Error) -> OffsetCommitResponse:
    """A response with `error` for every partition of the request that `image` has."""

    def error_of(topic: _Topic, partition: _Partition) -> Error:
        unknown = existence_error(image, topic.name, topic.topic_id, partition.partition_index)
        return error if unknown is Error.NONE else unknown

    return _response(request, error_of)


def existence_error(image: MetadataImage, topic: str, topic_id: bytes, partition: int) -> Error:
    """NONE if `image` has the partition of this topic, and not only of another one that has its name now."""
    topic_image = image.topics.get(topic)
    if topic_id != ZERO_UUID and (topic_image is None or topic_image.topic_id != topic_id):
        return Error.UNKNOWN_TOPIC_ID
    if topic_image is None or partition not in topic_image.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    return Error.NONE


def _response(request: OffsetCommitRequest, error_of: Callable[[_Topic, _Partition], Error]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponse.OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=error_of(topic, partition)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, for limits that Kafka counts in Java characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2


class OffsetCommit:
    def __init__(
        self, groups: GroupMap, offsets: OffsetStore, kinds: Mapping[GroupType, GroupKind], settings: GroupSettings
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._kinds = kinds
        self._settings = settings

    def commit(
        self, request: OffsetCommitRequest, api_version: int, now_ms: int, image: MetadataImage
    ) -> Decision[OffsetCommitResponse]:
        """Raises KafkaError if the group rejects the whole commit. A partition that `image` does not have is rejected:
        nothing would delete its offset."""
        self._check(request, api_version)
        records: list[CoordinatorRecord] = []
        written: list[TopicPartition] = []

        def commit_one(topic: _Topic, partition: _Partition) -> Error:
            error = existence_error(image, topic.name, topic.topic_id, partition.partition_index)
            if error is Error.NONE and self._is_too_long(partition.committed_metadata):
                error = Error.OFFSET_METADATA_TOO_LARGE
            if error is Error.NONE:
                value = self._value(request, partition, now_ms)
                records.append(offset_record(request.group_id, topic.name, partition.partition_index, value))
                written.append(TopicPartition(topic.name, partition.partition_index))
            return error

        response = _response(request, commit_one)
        if not records:
            return Decision(response)
        settle = self._offsets.begin(request.group_id, written)
        return Decision(response, records, on_concluded=settle)

    def _is_too_long(self, metadata: str | None) -> bool:
        return metadata is not None and utf16_length(metadata) > self._settings.offset_metadata_max_size

    def _value(
        self,
        request: OffsetCommitRequest,
        partition: _Partition,
        now_ms: int,
    ) -> OffsetCommitValue:
        retention_ms = request.retention_time_ms
        return OffsetCommitValue(
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata or "",
            commit_timestamp=now_ms,
            expire_timestamp=NO_EXPIRY if retention_ms == NO_RETENTION else now_ms + retention_ms,
        )

    def _check(self, request: OffsetCommitRequest, api_version: int) -> None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch < 0:
                return  # a client that is not a member: its first offset creates the group
            unknown = api_version >= GROUP_ID_NOT_FOUND_FROM
            raise KafkaError(Error.GROUP_ID_NOT_FOUND if unknown else Error.ILLEGAL_GENERATION)
        error = group.check_offset_commit(request)
        if error is not Error.NONE:
            raise KafkaError(error)
        self._kinds[group.group_type].offsets_committed(group, request.member_id)
