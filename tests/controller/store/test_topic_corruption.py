"""Corrupt topic entries: the controller decides nothing for them, and rejects requests with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.common.ids import ZERO_UUID
from signalbox.controller.brokers.broker_control import brokers_changed
from signalbox.controller.context import ControllerContext
from signalbox.controller.control_requests.control_batch import ControlBatch
from signalbox.controller.decision import Decision, ReplicasStopped
from signalbox.controller.dispatch import housekeeping
from signalbox.controller.election.failover import take_over
from signalbox.controller.entities.config_control import incremental_alter_configs
from signalbox.controller.partitions.alter_partition import alter_partition
from signalbox.controller.partitions.election_control import elect_leaders
from signalbox.controller.partitions.reassignment_control import alter_partition_reassignments
from signalbox.controller.replay import replay
from signalbox.controller.store.topic_corruption import TopicCorruption, describe
from signalbox.controller.topics.partition_creation import create_partitions
from signalbox.controller.topics.topic_control import create_topics
from signalbox.controller.topics.topic_deletion import delete_topics
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.port import Delete
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.controller.cluster import inputs
from tests.controller.contexts import after, live, make_context, states, topic_id, tp

ASIDE = TopicCorruption({"/brokers/topics/aside": "/brokers/topics/aside holds no JSON: ?"})
STATE = "/brokers/topics/t/partitions/1/state"
PART = TopicCorruption({STATE: f"{STATE} is not a partition's state: ?"}, frozenset({1}))
UNREADABLE = Error.UNKNOWN_SERVER_ERROR


def torn(*broker_ids: int, **fields: Any) -> ControllerContext:
    """The entry of topic `aside` is corrupt; of `t` only the state of partition 1, with replicas on brokers 1 and 2."""
    topics = {"t": {0: "1* 2", 1: "2 1 isr new removed 3", 2: "2* 1"}}
    return make_context(*broker_ids, topics=topics, corrupt_topics={"aside": ASIDE, "t": PART}, **fields)


def control_requests(context: ControllerContext, decision: Decision) -> list[tuple[int, Any]]:
    """The control requests that a decision sends to brokers."""
    done, batch = after(context, decision), ControlBatch()
    batch.add(done, decision.effects)
    return list(batch.requests(done, "REPLICATION"))


def ordered(context: ControllerContext, decision: Decision) -> set[str]:
    """Partitions in the LeaderAndIsr and StopReplica requests of a decision."""
    return {
        f"{topic.topic_name}-{state.partition_index}"
        for _, request in control_requests(context, decision)
        if isinstance(request, LeaderAndIsrRequest | StopReplicaRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    }


def test_a_new_controller_decides_nothing_of_it() -> None:
    context = torn(1, 2, 3)
    decision = take_over(context, inputs())
    assert states(decision) == {}
    assert ordered(context, decision) == {"t-0", "t-2"}


def test_brokers_that_join_or_fail_get_no_requests_about_it() -> None:
    context = torn(1, 2, 3)
    gone = brokers_changed(context, inputs(), live(1, 3))
    assert set(states(gone)) == {"t-0", "t-2"}
    back = torn(1, 3)
    assert ordered(back, brokers_changed(back, inputs(), live(1, 2, 3))) == {"t-0", "t-2"}


def test_no_replica_of_it_is_stopped() -> None:
    """Broker 3 still has a replica of partition 1 from before a reassignment: it may be the only copy left."""
    context = torn(1, 2, 3, deleting={})
    for decision in (take_over(context, inputs()), housekeeping(context, inputs())):
        assert not [each for each in decision.effects if isinstance(each, ReplicasStopped) and each.partitions]


def test_brokers_know_that_it_is_there() -> None:
    """Brokers that have its metadata keep it; other brokers see topics and partitions without a leader."""
    context = torn(1, 2, 3)
    full = make_context(1, 2, 3, topics={"t": {0: "1* 2", 1: "2* 1", 2: "2* 1"}, "aside": {0: "1*"}})
    knowing, new = MetadataCache(), MetadataCache()
    for cache in (knowing, new):
        for before in (full,) if cache is knowing else ():
            apply_updates(cache, before, take_over(before, inputs()))
        apply_updates(cache, context, take_over(context, inputs()))
    assert {number: each.leader for number, each in knowing.image.topics["t"].partitions.items()} == {0: 1, 1: 2, 2: 2}
    assert knowing.image.topics["aside"].topic_id == topic_id("aside")
    assert knowing.image.topics["aside"].partitions[0].leader == 1
    assert {number: each.leader for number, each in new.image.topics["t"].partitions.items()} == {0: 1, 1: -1, 2: 2}
    assert (new.image.topics["aside"].partitions, new.image.topic_id("aside")) == ({}, ZERO_UUID)


def test_new_brokers_know_that_it_is_there() -> None:
    context, cache = torn(1, 2), MetadataCache()
    apply_updates(cache, context, brokers_changed(context, inputs(), live(1, 2, 3)), broker_id=3)
    assert {name: len(topic.partitions) for name, topic in cache.image.topics.items()} == {"t": 3, "aside": 0}


def apply_updates(cache: MetadataCache, context: ControllerContext, decision: Decision, broker_id: int = 1) -> None:
    """Applies the UpdateMetadata requests that a decision sends to one broker."""
    for receiver, request in control_requests(context, decision):
        if receiver == broker_id and isinstance(request, UpdateMetadataRequest):
            cache.apply_update_metadata(request)


@pytest.mark.parametrize(
    ("name", "error"),
    [("aside", Error.TOPIC_ALREADY_EXISTS), ("t", Error.TOPIC_ALREADY_EXISTS), ("other", Error.NONE)],
)
def test_its_name_stays_taken(name: str, error: Error) -> None:
    wanted = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    response: Any = create_topics(torn(1, 2), inputs(), CreateTopicsRequest(topics=[wanted])).response
    assert response.topics[0].error_code == error
    assert name != "aside" or "/brokers/topics/aside holds no JSON" in response.topics[0].error_message


def test_a_name_that_would_collide_with_it_is_rejected() -> None:
    context = make_context(1, corrupt_topics={"a.b": ASIDE}, collision_names={"a_b": "a.b"})
    wanted = CreateTopicsRequest.CreatableTopic(name="a_b", num_partitions=1, replication_factor=1)
    response: Any = create_topics(context, inputs(), CreateTopicsRequest(topics=[wanted])).response
    assert response.topics[0].error_code == Error.INVALID_TOPIC_EXCEPTION


def test_it_is_not_deleted() -> None:
    context = torn(1, 2)
    request = DeleteTopicsRequest(
        topics=[DeleteTopicsRequest.DeleteTopicState(name=name) for name in ("aside", "t", "unknown")]
        + [DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id("t"))]
    )
    for wanted in (request.topics[:3], request.topics[3:]):
        decision = delete_topics(context, inputs(), DeleteTopicsRequest(topics=wanted))
        assert (decision.records, decision.effects) == ((), ())
        for result in decision.response.responses:  # type: ignore[union-attr]
            unknown = result.name == "unknown"
            assert result.error_code == (Error.UNKNOWN_TOPIC_OR_PARTITION if unknown else UNREADABLE)
            assert unknown or "docs/metadata-store.md" in result.error_message


def test_partitions_are_added_to_a_topic_with_a_corrupt_partition_but_not_to_a_quarantined_topic() -> None:
    def grown(name: str, count: int) -> tuple[Error, str]:
        wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
        response: Any = create_partitions(torn(1, 2), inputs(), CreatePartitionsRequest(topics=[wanted])).response
        return Error.of(response.results[0].error_code), response.results[0].error_message

    assert grown("t", 4)[0] is Error.NONE
    error, message = grown("aside", 4)
    assert error is UNREADABLE
    assert "/brokers/topics/aside" in message


def test_a_corrupt_entry_of_a_partition_that_is_added_is_not_overwritten() -> None:
    context = make_context(
        1, topics={"t": {0: "1*"}}, corrupt_topics={"t": TopicCorruption({STATE: "?"}, frozenset({1}))}
    )
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=2, assignments=None)
    decision = create_partitions(context, inputs(), CreatePartitionsRequest(topics=[wanted]))
    response: Any = decision.response
    assert (decision.records, response.results[0].error_code) == ((), Error.INVALID_PARTITIONS)
    assert STATE in response.results[0].error_message


def test_it_is_not_moved() -> None:
    each = AlterPartitionReassignmentsRequest.ReassignableTopic
    to = AlterPartitionReassignmentsRequest.ReassignablePartition
    request = AlterPartitionReassignmentsRequest(
        topics=[
            each(name="t", partitions=[to(partition_index=number, replicas=[1, 3]) for number in (0, 1)]),
            each(name="aside", partitions=[to(partition_index=0, replicas=[1])]),
        ]
    )
    response: Any = alter_partition_reassignments(torn(1, 2, 3), inputs(), request).response
    codes = [[each.error_code for each in topic.partitions] for topic in response.responses]
    assert codes == [[Error.NONE, UNREADABLE], [UNREADABLE]]


@pytest.mark.parametrize("election_type", [0, 1])
def test_no_election_is_held(election_type: int) -> None:
    topics = [
        ElectLeadersRequest.TopicPartitions(topic="t", partitions=[1]),
        ElectLeadersRequest.TopicPartitions(topic="aside", partitions=[0]),
    ]
    request = ElectLeadersRequest(election_type=election_type, topic_partitions=topics)
    decision = elect_leaders(torn(1, 2), inputs(), request)
    response: Any = decision.response
    codes = [each.partition_result[0].error_code for each in response.replica_election_results]
    assert (decision.records, codes) == ((), [UNREADABLE, UNREADABLE])
    everything: Any = elect_leaders(torn(1, 2), inputs(), ElectLeadersRequest(election_type=election_type)).response
    assert all(each.topic != "aside" for each in everything.replica_election_results)


def test_its_configs_are_not_changed() -> None:
    config = IncrementalAlterConfigsRequest.AlterableConfig(name="retention.ms", config_operation=0, value="9")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=2, resource_name="aside", configs=[config]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response: Any = incremental_alter_configs(torn(1, 2), inputs(), request).response
    assert response.responses[0].error_code == UNREADABLE


@pytest.mark.parametrize(
    ("corrupt_topics", "topic", "partition", "error"),
    [
        ({"t": PART}, topic_id("t"), 1, Error.OPERATION_NOT_ATTEMPTED),
        ({"aside": ASIDE}, b"?" * 16, 0, Error.OPERATION_NOT_ATTEMPTED),
        ({}, b"?" * 16, 0, Error.UNKNOWN_TOPIC_ID),
        ({"t": PART}, b"?" * 16, 0, Error.UNKNOWN_TOPIC_ID),
    ],
)
def test_its_leader_drops_its_proposal(corrupt_topics: Any, topic: bytes, partition: int, error: Error) -> None:
    """The leader keeps its current ISR, and retries later."""
    context = make_context(1, 2, topics={"t": {0: "1* 2", 1: "1 2 isr new"}}, corrupt_topics=corrupt_topics)
    wanted = AlterPartitionRequest.PartitionData(
        partition_index=partition, leader_epoch=7, partition_epoch=3, new_isr=[1]
    )
    request = AlterPartitionRequest(
        broker_id=1, broker_epoch=100, topics=[AlterPartitionRequest.TopicData(topic_id=topic, partitions=[wanted])]
    )
    response: Any = alter_partition(context, inputs(), request).response
    assert response.topics[0].partitions[0].error_code == error


def test_unknown_entries_below_an_entry_are_deleted_first() -> None:
    """A store rejects the deletion of an entry that has children."""
    unknown_entries = (
        "/brokers/topics/t/x/y",
        "/brokers/topics/t/x",
        "/admin/delete_topics/t/x",
        "/admin/delete_topics/tt/x",
    )
    context = make_context(1, deleting={"t": frozenset()}, unknown_entries=unknown_entries)
    decision = take_over(context, inputs())
    left, operations = replay(context, decision.records)
    deleted = [each for each in operations if isinstance(each, Delete)]
    assert deleted == [Delete("/admin/delete_topics/t/x"), Delete("/admin/delete_topics/t")]
    assert left.unknown_entries == (*unknown_entries[:2], unknown_entries[3])


def test_the_log_names_topic_entries_and_remedy() -> None:
    assert describe("aside", ASIDE).startswith("topic aside is quarantined, ")
    assert describe("t", PART).startswith("partitions [1] of topic t are quarantined")
    for text, path in ((describe("aside", ASIDE), "/brokers/topics/aside holds no JSON"), (describe("t", PART), STATE)):
        assert path in text
        assert "docs/metadata-store.md" in text


def test_many_problems_are_described_in_few_words() -> None:
    problems = {f"/brokers/topics/t/partitions/{number}/state": "?" * 10_000 for number in range(1_000)}
    text = str(TopicCorruption(problems))
    assert len(text) < 1_000
    assert text.endswith("and 997 more")


def test_other_partitions_of_the_topic_are_not_quarantined() -> None:
    context = torn(1, 2)
    assert (context.is_quarantined(tp(0)), context.is_quarantined(tp(1)), context.is_quarantined(tp(0, "aside"))) == (
        False,
        True,
        True,
    )
    assert list(context.quarantined_partitions()) == [tp(1)]
    assert list(context.partitions()) == [tp(0), tp(2)]
