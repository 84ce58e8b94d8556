"""DeleteRecords, versions 0 to 2 (KIP-107): move a partition's log start offset forward.

The leader moves its own start at once. Replicas receive it in the leader's fetch responses. The response waits until
every live replica has followed (the low watermark), or for the request's timeout. -1 means "up to the high watermark".
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.common.waiting.promise import Promise
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.partition import Partition
from signalbox.replication.waiting.purgatory import Purgatory

TO_HIGH_WATERMARK = -1
PartitionResult = DeleteRecordsResponse.DeleteRecordsPartitionResult


class RecordDeletion:
    """One partition's deletion: rejected, waiting for replicas, or done."""

    __slots__ = ("_cluster", "_offset", "partition", "result")

    def __init__(self, cluster: MetadataCache, index: int) -> None:
        self._cluster = cluster
        self._offset = -1
        self.partition: Partition | None = None
        self.result = PartitionResult(partition_index=index, low_watermark=-1, error_code=Error.REQUEST_TIMED_OUT)

    def start(self, partition: Partition, offset: int) -> None:
        """Move the leader's log start. Raises KafkaError."""
        log = partition.local_log()
        if not partition.settings.deletes_records:
            raise KafkaError(Error.POLICY_VIOLATION, "cleanup.policy does not contain delete")
        new_start_offset = partition.high_watermark if offset == TO_HIGH_WATERMARK else offset
        if new_start_offset < 0 or new_start_offset > partition.high_watermark:
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE, f"offset {offset} is above the high watermark")
        log.delete_records_before(new_start_offset)
        partition.wake_commit_watchers()
        self.partition = partition
        self._offset = new_start_offset
        self.result.low_watermark = partition.low_watermark_of(self._cluster.is_alive)  # if the time is not enough

    def reject(self, error: Error) -> None:
        self.partition = None
        self.result.error_code, self.result.low_watermark = error, -1

    def is_done(self) -> bool:
        """Check the replicas; True if there is nothing to wait for."""
        partition = self.partition
        if partition is None:
            return True
        if not partition.is_leader:
            self.reject(Error.KAFKA_STORAGE_ERROR if partition.is_offline else Error.NOT_LEADER_OR_FOLLOWER)
            return True
        low_watermark = partition.low_watermark_of(self._cluster.is_alive)
        if low_watermark < self._offset:
            return False
        self.result.low_watermark = low_watermark
        self.result.error_code = Error.NONE
        self.partition = None
        return True


class DelayedDeleteRecords:
    """A DeleteRecords request in progress: a delayed operation of the purgatory."""

    kind = "DeleteRecords"

    def __init__(self, response: DeleteRecordsResponse, deletions: list[RecordDeletion]) -> None:
        self._response = response
        self._deletions = deletions
        self.reply: Promise[DeleteRecordsResponse] = Promise()

    def try_complete(self) -> bool:
        if not all([deletion.is_done() for deletion in self._deletions]):  # noqa: C419 (is_done must run for each)
            return False
        self.reply.complete(self._response)
        return True

    def expire(self) -> None:
        for deletion in self._deletions:
            deletion.is_done()
        self.reply.complete(self._response)

    def park(self, purgatory: Purgatory, timeout_ms: int) -> Promise[DeleteRecordsResponse]:
        """Wait for the replicas."""
        lists = [deletion.partition.commit_watchers for deletion in self._deletions if deletion.partition is not None]
        purgatory.park(self, lists, timeout_ms)
        return self.reply


def delete_records(
    hosted: HostedPartitions,
    cluster: MetadataCache,
    purgatory: Purgatory,
    request: DeleteRecordsRequest,
    authorize: Callable[[str], bool] | None = None,
) -> Promise[DeleteRecordsResponse]:
    """The response, when the replicas have followed or the timeout has passed."""
    response = DeleteRecordsResponse()
    deletions = []
    for topic in request.topics:
        entry = DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name)
        for request_partition in topic.partitions:
            deletion = RecordDeletion(cluster, request_partition.partition_index)
            deletions.append(deletion)
            entry.partitions.append(deletion.result)
            try:
                _check_topic(topic.name, authorize)
                deletion.start(hosted.find(topic.name, request_partition.partition_index), request_partition.offset)
            except KafkaError as error:
                deletion.reject(error.error)
        response.topics.append(entry)
    operation = DelayedDeleteRecords(response, deletions)
    if operation.try_complete():
        return Promise.of(response)
    return operation.park(purgatory, request.timeout_ms)


def _check_topic(topic: str, authorize: Callable[[str], bool] | None) -> None:
    if authorize is not None and not authorize(topic):
        raise KafkaError(Error.TOPIC_AUTHORIZATION_FAILED)
    if topic in INTERNAL_TOPICS:
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, f"Cannot delete records of internal topic {topic}")
