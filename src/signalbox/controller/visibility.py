"""What an answer waits for: conditions on the metadata image of the broker that answers (facts §4.12, §5.11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.metadata.image import MetadataImage

Condition = Callable[[MetadataImage], bool]


def all_led(topic_ids: Mapping[str, bytes], partition_counts: Mapping[str, int]) -> Condition:
    """Every partition of these topics, up to the count, has a leader. Remembers what it has already seen led."""
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


def all_gone(topic_ids: Mapping[str, bytes]) -> Condition:
    """None of these topics is known any more (a new topic of the same name is another topic)."""

    def holds(image: MetadataImage) -> bool:
        return all(
            name not in image.topics or image.topics[name].topic_id != topic_id for name, topic_id in topic_ids.items()
        )

    return holds
