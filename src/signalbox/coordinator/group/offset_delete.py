"""OffsetDelete 0 and the deletion of topics: remove offsets before they expire.

OffsetDelete is allowed for a group without members, and for a group of consumers if no member subscribes to the topic
(KIP-496).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.decision import CoordinatorRecord, Decision, nothing
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.group_records import offset_tombstone
from signalbox.coordinator.group.offset_store import OffsetStore
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse


class OffsetDelete:
    def __init__(self, groups: GroupMap, offsets: OffsetStore) -> None:
        self._groups = groups
        self._offsets = offsets

    def delete(self, request: OffsetDeleteRequest) -> Decision[OffsetDeleteResponse]:
        """Raises KafkaError if the group rejects the whole request."""
        group = self._groups.get(request.group_id)
        error = Error.GROUP_ID_NOT_FOUND if group is None else group.check_offset_deletion()
        if group is None or error is not Error.NONE:
            raise KafkaError(error)
        known = set(self._offsets.known_or_coming(request.group_id))
        records: list[CoordinatorRecord] = []
        response = OffsetDeleteResponse()
        for topic in request.topics:
            subscribed = group.is_subscribed_to(topic.name)
            answer = OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name)
            for partition in topic.partitions:
                answer.partitions.append(
                    OffsetDeleteResponse.OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=Error.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else Error.NONE,
                    )
                )
                if not subscribed and TopicPartition(topic.name, partition.partition_index) in known:
                    records.append(offset_tombstone(request.group_id, topic.name, partition.partition_index))
            response.topics.append(answer)
        return Decision(response, records)

    def delete_topics(self, topics: Iterable[str]) -> Iterator[Decision[None]]:
        """Delete all groups' offsets of deleted topics; one group at a time."""
        for topic in topics:
            for group_id in self._offsets.groups_with_topic(topic):
                deleted = [p for p in self._offsets.known_or_coming(group_id) if p.topic == topic] if group_id else []
                records = [offset_tombstone(group_id, *partition) for partition in deleted]
                yield Decision(None, records, atomic=False) if records else nothing()
