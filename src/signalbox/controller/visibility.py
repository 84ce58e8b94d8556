"""What a response waits for: conditions on the metadata image of the node that responds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.metadata.image import MetadataImage

Condition = Callable[[MetadataImage], bool]


def all_led(topic_ids: Mapping[str, bytes], partition_counts: Mapping[str, int]) -> Condition:
    """Every partition of these topics, up to the count, has a leader. Topics that had all are not checked again."""
    waiting = dict(topic_ids)

    def holds(image: MetadataImage) -> bool:
        for name in list(waiting):
            topic = image.topics.get(name)
            if topic is None or topic.topic_id != waiting[name] or len(topic.partitions) < partition_counts[name]:
                return False
            if any(partition.leader < 0 for partition in topic.partitions.values()):
                return False
            del waiting[name]
        return True

    return holds


class LeadersSeen:
    """Elections by their new leader epoch. `waiting`: those that the metadata does not show yet."""

    def __init__(self, leader_epochs: Mapping[TopicPartition, int]) -> None:
        self.waiting = dict(leader_epochs)

    def holds(self, image: MetadataImage) -> bool:
        """Whether the metadata shows every election, or a later one of the same partition."""
        for partition, leader_epoch in list(self.waiting.items()):
            found = image.partition(*partition)
            if found is not None and found.leader_epoch >= leader_epoch:
                del self.waiting[partition]
        return not self.waiting


def all_gone(topic_ids: Mapping[str, bytes]) -> Condition:
    """None of these topics is in the metadata (a new topic of the same name is another topic)."""

    def holds(image: MetadataImage) -> bool:
        return all(
            name not in image.topics or image.topics[name].topic_id != topic_id for name, topic_id in topic_ids.items()
        )

    return holds
