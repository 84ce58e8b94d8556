"""OffsetFetch 1–10: returns the committed offsets of groups. Internally always a list of groups, as from version 8 on.

It returns offsets whose records are committed. An unknown group has no offsets, which is no error. Version 10 has topic
ids only: the handler fills in names before the call and ids after it (`topic_id` is copied into the response).
"""

from __future__ import annotations

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.offset_store import CommittedOffset, OffsetStore
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

GROUPS_FROM = 8
TOP_LEVEL_ERROR_FROM = 2
NO_OFFSET = CommittedOffset(-1, -1, "", -1)

Group = OffsetFetchRequest.OffsetFetchRequestGroup
GroupResponse = OffsetFetchResponse.OffsetFetchResponseGroup


def requested_groups(request: OffsetFetchRequest, api_version: int) -> list[Group]:
    """The request's groups; before version 8 there is one, in fields of the request itself."""
    if api_version >= GROUPS_FROM:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [Group(group_id=request.group_id, topics=topics)]


def fetch_response(responses: list[GroupResponse], api_version: int) -> OffsetFetchResponse:
    """The response with `responses`, in the form of the request's version."""
    if api_version >= GROUPS_FROM:
        return OffsetFetchResponse(groups=responses)
    (response,) = responses
    topics = [
        OffsetFetchResponse.OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponse.OffsetFetchResponsePartition(
                    partition_index=partition.partition_index,
                    committed_offset=partition.committed_offset,
                    committed_leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.metadata,
                    error_code=partition.error_code,
                )
                for partition in topic.partitions
            ],
        )
        for topic in response.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=response.error_code)


def rejected_fetch(group: Group, error: Error, api_version: int) -> GroupResponse:
    """`error` for a whole group; version 1 can return it per partition only."""
    if api_version >= TOP_LEVEL_ERROR_FROM:
        return GroupResponse(group_id=group.group_id, error_code=error)
    return GroupResponse(group_id=group.group_id, topics=_topics(group, {}, error))


class OffsetFetch:
    def __init__(self, groups: GroupMap, offsets: OffsetStore) -> None:
        self._groups = groups
        self._offsets = offsets

    def fetch(self, asked: Group, require_stable: bool) -> GroupResponse:
        """With `require_stable`, a partition with an offset in a transaction that has not ended is an error
        (UNSTABLE_OFFSET_COMMIT, KIP-447). Member id and epoch are for groups of KIP-848; a classic group ignores them,
        as in Kafka."""
        group = self._groups.get(asked.group_id)
        alive = group is not None and not group.is_dead
        offsets = self._offsets.of_group(asked.group_id) if alive else {}
        topics = _all_topics(offsets) if asked.topics is None else _topics(asked, offsets, Error.NONE)
        if require_stable and self._offsets.pending.has_group(asked.group_id):
            self._mark_unstable(asked.group_id, topics)
        return GroupResponse(group_id=asked.group_id, topics=topics)

    def _mark_unstable(self, group_id: str, topics: list[OffsetFetchResponse.OffsetFetchResponseTopics]) -> None:
        for topic in topics:
            topic.partitions = [
                _partition(partition.partition_index, NO_OFFSET, Error.UNSTABLE_OFFSET_COMMIT)
                if self._offsets.pending.is_unstable(group_id, TopicPartition(topic.name, partition.partition_index))
                else partition
                for partition in topic.partitions
            ]


def _topics(
    asked: Group, offsets: dict[TopicPartition, CommittedOffset], error: Error
) -> list[OffsetFetchResponse.OffsetFetchResponseTopics]:
    return [
        OffsetFetchResponse.OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                _partition(index, offsets.get(TopicPartition(topic.name, index), NO_OFFSET), error)
                for index in topic.partition_indexes
            ],
        )
        for topic in asked.topics or ()
    ]


def _all_topics(
    offsets: dict[TopicPartition, CommittedOffset],
) -> list[OffsetFetchResponse.OffsetFetchResponseTopics]:
    topics: dict[str, OffsetFetchResponse.OffsetFetchResponseTopics] = {}
    for (name, index), value in offsets.items():
        if name not in topics:
            topics[name] = OffsetFetchResponse.OffsetFetchResponseTopics(name=name)
        topics[name].partitions.append(_partition(index, value, Error.NONE))
    return list(topics.values())


def _partition(index: int, value: CommittedOffset, error: Error) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    return OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=value.offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        error_code=error,
    )
