"""UpdateMetadata reaches the cache, and the coordinator when its own topic or a topic of a group changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.delta import FULL
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest as Update
from signalbox.wiring.controller_to_broker import ControlRequests
from tests.broker.handler_requests import update


class Coordinator:
    def __init__(self) -> None:
        self.counts: list[int] = []
        self.deleted: list[str] = []

    def set_partition_count(self, partition_count: int) -> None:
        self.counts.append(partition_count)

    def on_topics_deleted(self, topics: Iterable[str]) -> None:
        self.deleted += topics


class Replicas:
    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def become_leader_or_follower(self, request: Any, version: int) -> None:
        self.asked.append(("lead", version))

    def stop_replica(self, request: Any, version: int) -> None:
        self.asked.append(("stop", version))


def requests() -> tuple[ControlRequests, MetadataCache, Coordinator, Replicas]:
    cache, coordinator, replicas = MetadataCache(), Coordinator(), Replicas()
    return ControlRequests(replicas, cache, coordinator), cache, coordinator, replicas  # type: ignore[arg-type]


def test_the_coordinator_gets_the_partition_count_of_the_offsets_topic() -> None:
    control, cache, coordinator, _ = requests()
    control.update_metadata(update({1: ["CLIENT"]}, {"t": {0: (1, [1])}}), 8)
    assert coordinator.counts == []
    offsets = {"__consumer_offsets": {index: (1, [1]) for index in range(3)}}
    assert control.update_metadata(update({1: ["CLIENT"]}, offsets), 8).error_code == 0
    control.update_metadata(update({1: ["CLIENT"]}), 8)
    assert (coordinator.counts, cache.image.is_alive(1)) == ([3], True)


def test_a_topic_with_a_corrupt_entry_is_neither_empty_nor_deleted() -> None:
    """Groups keep their partitions and their committed offsets."""
    control, _, coordinator, _ = requests()
    complete = {"__consumer_offsets": {index: (1, [1]) for index in range(3)}, "t": {0: (1, [1])}}
    named: dict[str, dict[int, tuple[int, list[int]]]] = {"__consumer_offsets": {}, "t": {}}
    for topics in (named, complete, named):
        message = update({1: ["CLIENT"]}, topics)
        message.type = FULL
        control.update_metadata(message, 8)
    assert (coordinator.counts, coordinator.deleted) == ([3, 3], [])


def test_offsets_of_deleted_topics_are_deleted() -> None:
    control, cache, coordinator, _ = requests()
    control.update_metadata(update({1: ["CLIENT"]}, {"t": {0: (1, [1])}, "u": {0: (1, [1])}}), 8)
    gone = Update.UpdateMetadataPartitionState(partition_index=0, leader=-2)
    state = Update.UpdateMetadataTopicState(topic_name="t", partition_states=[gone])
    control.update_metadata(Update(topic_states=[state]), 8)
    assert (coordinator.deleted, set(cache.image.topics)) == (["t"], {"u"})


def test_the_other_two_are_replications() -> None:
    control, _, _, replicas = requests()
    control.leader_and_isr(None, 7)  # type: ignore[arg-type]
    control.stop_replica(None, 4)  # type: ignore[arg-type]
    assert replicas.asked == [("lead", 7), ("stop", 4)]
