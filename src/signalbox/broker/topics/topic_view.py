"""A topic as seen on one listener: the partition entries of Metadata and DescribeTopicPartitions.

    leader                                   Metadata 0-5            Metadata 6 and later
    not alive, or none                       LEADER_NOT_AVAILABLE    LEADER_NOT_AVAILABLE
    alive, without the request's listener    LEADER_NOT_AVAILABLE    LISTENER_NOT_FOUND
    alive and reachable                      NONE                    NONE

Only version 0 removes replicas and in-sync replicas without the listener, and returns REPLICA_NOT_AVAILABLE.
"""

from __future__ import annotations

from collections.abc import Iterator

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.metadata.image import MetadataImage, PartitionImage, TopicImage
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataResponse

_LISTENER_NOT_FOUND_FROM = 6


class TopicView:
    """One image as seen on one listener at one version of Metadata."""

    def __init__(self, image: MetadataImage, listener_name: str, version: int) -> None:
        self._image = image
        self._version = version
        self._reachable = image.nodes(listener_name)

    def leader_error(self, partition: PartitionImage) -> Error:
        """The partition's error code by the table above."""
        if partition.leader in self._reachable:
            return Error.NONE
        if partition.leader in self._image.brokers and self._version >= _LISTENER_NOT_FOUND_FROM:
            return Error.LISTENER_NOT_FOUND
        return Error.LEADER_NOT_AVAILABLE

    def topic_error(self, topic: TopicImage) -> Error:
        """LEADER_NOT_AVAILABLE for a topic without known partitions, so that clients retry; else NONE."""
        return Error.NONE if topic.partitions else Error.LEADER_NOT_AVAILABLE

    def topic(self, topic: TopicImage) -> MetadataResponse.MetadataResponseTopic:
        """Yields."""
        return MetadataResponse.MetadataResponseTopic(
            error_code=self.topic_error(topic),
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=list(self._partitions(topic)),
        )

    def _partitions(self, topic: TopicImage) -> Iterator[MetadataResponse.MetadataResponsePartition]:
        """Yields."""
        for index in sorted(topic.partitions):
            yield self.partition(index, topic.partitions[index])
            yield_if_due()

    def partition(self, index: int, partition: PartitionImage) -> MetadataResponse.MetadataResponsePartition:
        error = self.leader_error(partition)
        replicas, isr = list(partition.replicas), list(partition.isr)
        if self._version == 0:
            replicas = [node for node in replicas if node in self._reachable]
            isr = [node for node in isr if node in self._reachable]
            if error is Error.NONE and (len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr)):
                error = Error.REPLICA_NOT_AVAILABLE
        return MetadataResponse.MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=partition.leader if partition.leader in self._reachable else -1,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=list(partition.offline_replicas),
        )
