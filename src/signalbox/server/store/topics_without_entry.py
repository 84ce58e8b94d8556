"""Logs, at the start of a broker, the topics that have logs here but no entry in the metadata store.

A deletion or a reassignment that this broker missed is not among them: the controller keeps the topic's entry until
each replica is deleted. The remaining ones come from another store: one that was restored from an older copy, or
another cluster's. The logs are kept and not served.
"""

from __future__ import annotations

import logging

from signalbox.common.ids import ZERO_UUID, TopicPartition, partition_list, uuid_text
from signalbox.metadata.image import MetadataImage
from signalbox.metadata.layout import TOPICS
from signalbox.metadata.store.port import MetadataStore
from signalbox.storage.log_manager import LogManager

log = logging.getLogger(__name__)

_MAX_LINES = 50


async def log_topics_without_entry(store: MetadataStore, logs: LogManager, image: MetadataImage) -> None:
    """One WARN per topic, for the first 50 topics. StoreError."""
    names = set(await store.children(TOPICS))
    logs_by_topic: dict[tuple[str, bytes], list[TopicPartition]] = {}
    for partition_log in logs:
        topic = partition_log.topic_partition.topic
        stored_id = image.topic_id(topic)
        if topic not in names or (
            ZERO_UUID not in (stored_id, partition_log.topic_id) and stored_id != partition_log.topic_id
        ):
            logs_by_topic.setdefault((topic, partition_log.topic_id), []).append(partition_log.topic_partition)
    for (topic, topic_id), partitions in sorted(logs_by_topic.items())[:_MAX_LINES]:
        log.warning(
            "Topic has logs but no entry in the metadata store (topic=%s, topic id=%s, partitions=%s): the logs are"
            " kept and not served; delete or move their folders if the topic is not to come back",
            topic,
            uuid_text(topic_id),
            partition_list(partitions),
        )
    if len(logs_by_topic) > _MAX_LINES:
        log.warning("%d more topics have logs but no entry in the metadata store", len(logs_by_topic) - _MAX_LINES)
