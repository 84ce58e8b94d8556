"""What OffsetCommit and TxnOffsetCommit share: the checks of each partition, its record, and the rows of the response.

Their messages are different classes with the same fields. A partition that does not exist is rejected, because nothing
would delete its offset: by topic id if the request has one, else by name. A request in which all partitions are
rejected writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import NO_PRODUCER_ID, CoordinatorRecord, Decision
from signalbox.coordinator.group.group_records import offset_record
from signalbox.coordinator.group.offset_store import OffsetStore
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.group_records import OffsetCommitValue
from signalbox.protocol.messages.offset_commit import OffsetCommitResponse
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse

ErrorOf = Callable[[Any, Any], Error]
"""The error of a topic's partition, both as in the request."""


class ResponseClasses(NamedTuple):
    """The classes of a response with the fields of OffsetCommit's."""

    response: Any
    topic: Any
    partition: Any

    def of(self, request: Any, error_of: ErrorOf) -> Any:
        """A response with a row for each partition of the request."""
        return self.response(
            topics=[
                self.topic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[
                        self.partition(partition_index=partition.partition_index, error_code=error_of(topic, partition))
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def rejected(self, request: Any, image: MetadataImage, error: Error) -> Any:
        """A response with `error` for every partition of the request that `image` has."""
        return self.of(request, lambda topic, partition: existence_error(image, topic, partition) or error)


COMMIT = ResponseClasses(
    OffsetCommitResponse,
    OffsetCommitResponse.OffsetCommitResponseTopic,
    OffsetCommitResponse.OffsetCommitResponsePartition,
)
TXN_COMMIT = ResponseClasses(
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic,
    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition,
)


def existence_error(image: MetadataImage, topic: Any, partition: Any) -> Error:
    """NONE if `image` has the partition of this topic, and not only of another one that has its name now."""
    topic_image = image.topics.get(topic.name)
    if topic.topic_id != ZERO_UUID and (topic_image is None or topic_image.topic_id != topic.topic_id):
        return Error.UNKNOWN_TOPIC_ID
    if topic_image is None or partition.partition_index not in topic_image.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    return Error.NONE


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, for limits that Kafka counts in Java characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2


class OffsetRows:
    """Writes the offsets of a request that its group has accepted."""

    def __init__(self, offsets: OffsetStore, settings: GroupSettings) -> None:
        self._offsets = offsets
        self._settings = settings

    def commit(
        self, classes: ResponseClasses, request: Any, image: MetadataImage, times: tuple[int, int], producer_id: int
    ) -> Decision[Any]:
        """`times`: commit timestamp and expire timestamp of the offsets. `producer_id`: of the request's transaction,
        or -1."""
        records: list[CoordinatorRecord] = []
        written: list[TopicPartition] = []

        def commit_one(topic: Any, partition: Any) -> Error:
            index, metadata = partition.partition_index, partition.committed_metadata or ""
            error = existence_error(image, topic, partition)
            if error is Error.NONE and utf16_length(metadata) > self._settings.offset_metadata_max_size:
                error = Error.OFFSET_METADATA_TOO_LARGE
            if error is not Error.NONE:
                return error
            value = OffsetCommitValue(
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=times[0],
                expire_timestamp=times[1],
            )
            record = offset_record(request.group_id, topic.name, index, value)
            records.append(record if producer_id == NO_PRODUCER_ID else record._replace(producer_id=producer_id))
            written.append(TopicPartition(topic.name, index))
            return Error.NONE

        response = classes.of(request, commit_one)
        if not records:
            return Decision(response)
        return Decision(response, records, on_concluded=self._offsets.begin(request.group_id, written))
