"""OffsetDelete 0 and the deletion of topics: remove offsets before they expire.

OffsetDelete is allowed for a group without members, and for a group of consumers if no member subscribes to the topic
(KIP-496).

The offsets of a deleted topic are deleted group by group, while requests are served. The topic may be created again
meanwhile, and offsets have only the topic's name. So a group's commit for that name first deletes the group's offsets
of the deleted topic; from then on the group has offsets of the new topic only, and the deletion passes over it.
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
        # The topics whose offsets are being deleted, with the groups that have no more offsets of theirs.
        self._deleted_topics: dict[str, set[str]] = {}

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

    def topics_deleted(self, topics: Iterable[str]) -> None:
        """The topics do not exist any more: every offset that is known or coming now is to be deleted."""
        for topic in topics:
            self._deleted_topics[topic] = set()

    def delete_topics(self) -> Iterator[Decision[None]]:
        """Delete all groups' offsets of the deleted topics; one group at a time."""
        for topic, groups_done in list(self._deleted_topics.items()):
            for group_id in self._offsets.groups_with_topic(topic):
                if self._deleted_topics.get(topic) is not groups_done:
                    break  # deleted once more, or complete: another iteration does, or did, the rest
                records = self._records_of_deleted(group_id, topic) if group_id else []
                yield Decision(None, records, atomic=False) if records else nothing()
            if self._deleted_topics.get(topic) is groups_done:
                del self._deleted_topics[topic]

    def delete_before_commit(self, group_id: str, topics: Iterable[str]) -> Decision[None]:
        """Delete the group's offsets of deleted topics under whose names a request commits. It is a decision of its
        own: a commit is one batch, and must not become too large because of them."""
        deleted = {topic for topic in topics if topic in self._deleted_topics}
        records = [record for topic in deleted for record in self._records_of_deleted(group_id, topic)]
        return Decision(None, records, atomic=False)

    def _records_of_deleted(self, group_id: str, topic: str) -> list[CoordinatorRecord]:
        """Tombstones of the group's offsets of the deleted topic; none the second time."""
        groups_done = self._deleted_topics[topic]
        if group_id in groups_done:
            return []
        groups_done.add(group_id)
        partitions = [p for p in self._offsets.known_or_coming(group_id) if p.topic == topic]
        return [offset_tombstone(group_id, *partition) for partition in partitions]
