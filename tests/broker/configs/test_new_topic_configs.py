"""Topics with new partitions in a LeaderAndIsr, in its older and newer form."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from signalbox.broker.configs.new_topic_configs import NewTopicConfigs
from signalbox.metadata.store.port import StoreUnavailable
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest

PartitionState = LeaderAndIsrRequest.LeaderAndIsrPartitionState
TopicState = LeaderAndIsrRequest.LeaderAndIsrTopicState


async def load(entity_paths: Iterable[str]) -> None:
    if "topics/unread" in entity_paths:
        raise StoreUnavailable("gone")


CONFIGS = NewTopicConfigs(load)


def test_topics_with_a_new_partition() -> None:
    old, new = PartitionState(partition_index=0), PartitionState(partition_index=1, is_new=True)
    grouped = [
        TopicState(topic_name="b", partition_states=[old, new]),
        TopicState(topic_name="a", partition_states=[new]),
    ]
    known = TopicState(topic_name="c", partition_states=[old])
    assert CONFIGS.topics(LeaderAndIsrRequest(topic_states=[*grouped, known])) == ["a", "b"]
    ungrouped = [PartitionState(topic_name="d", is_new=True), PartitionState(topic_name="e")]
    assert CONFIGS.topics(LeaderAndIsrRequest(ungrouped_partition_states=ungrouped)) == ["d"]
    assert CONFIGS.topics(StopReplicaRequest()) == []


@pytest.mark.parametrize(("topic", "error"), [("t", Error.NONE), ("unread", Error.REQUEST_TIMED_OUT)])
def test_a_store_that_does_not_answer_is_a_retriable_error(topic: str, error: Error) -> None:
    assert asyncio.run(CONFIGS.load([topic])) is error
