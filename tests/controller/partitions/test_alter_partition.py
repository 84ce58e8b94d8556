"""AlterPartition: allowed senders and allowed ISRs."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.common.ids import ZERO_UUID
from signalbox.controller.decision import Decision, LeadersAnnounced, MetadataAnnounced
from signalbox.controller.partitions.alter_partition import alter_partition
from signalbox.metadata.entries.partition_state import LeaderRecoveryState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import EPOCH, after, make_context, states, topic_id, tp

CONTEXT = make_context(
    1, 2, 3, 4, topics={"t": {0: "1* 2 3 isr 1 2", 1: "2* 1", 2: "1 2 isr new"}, "going": {0: "1*"}},
    deleting={"going": frozenset()}, shutting_down=frozenset({4}),
)  # fmt: skip


def wanted(partition: int, isr: list[int], **fields: Any) -> AlterPartitionRequest.PartitionData:
    """Leader epoch 7 and partition epoch 3 are the current ones."""
    defaults = {"leader_epoch": 7, "partition_epoch": 3}
    return AlterPartitionRequest.PartitionData(partition_index=partition, new_isr=isr, **{**defaults, **fields})


def with_epochs(partition: int, **epochs: int) -> AlterPartitionRequest.PartitionData:
    members = [
        AlterPartitionRequest.BrokerState(broker_id=int(name[1:]), broker_epoch=epoch) for name, epoch in epochs.items()
    ]
    return AlterPartitionRequest.PartitionData(
        partition_index=partition, new_isr_with_epochs=members, leader_epoch=7, partition_epoch=3
    )


def decide(
    *partitions: AlterPartitionRequest.PartitionData,
    broker: tuple[int, int] = (1, 100),
    topic: bytes | str = topic_id("t"),
) -> Decision:
    name, made = (topic, ZERO_UUID) if isinstance(topic, str) else ("", topic)
    data = AlterPartitionRequest.TopicData(topic_name=name, topic_id=made, partitions=list(partitions))
    request = AlterPartitionRequest(broker_id=broker[0], broker_epoch=broker[1], topics=[data])
    return alter_partition(CONTEXT, inputs(), request)


def response_of(decision: Decision) -> AlterPartitionResponse:
    assert isinstance(decision.response, AlterPartitionResponse)
    return decision.response


def error_of(decision: Decision) -> Error:
    return Error.of(response_of(decision).topics[0].partitions[0].error_code)


def test_an_isr_grows_without_a_new_leader_epoch() -> None:
    decision = decide(wanted(0, [1, 2, 3]))
    assert states(decision) == {"t-0": "1/7/4 isr 1 2 3"}
    assert decision.effects == (MetadataAnnounced((tp(0),)),)
    [result] = response_of(decision).topics[0].partitions
    assert (result.error_code, result.leader_id, result.leader_epoch, result.isr, result.partition_epoch) == (
        Error.NONE, 1, 7, [1, 2, 3], 4,
    )  # fmt: skip
    changed = after(CONTEXT, decision).state(tp(0))
    assert changed is not None
    assert changed.controller_epoch == EPOCH


def test_by_name_as_before_version_2() -> None:
    decision = decide(wanted(0, [1]), topic="t")
    assert states(decision) == {"t-0": "1/7/4 isr 1"}
    assert response_of(decision).topics[0].topic_name == "t"


def test_asking_for_what_is_changes_nothing() -> None:
    for partition_epoch in (3, 2):
        decision = decide(wanted(0, [1, 2], partition_epoch=partition_epoch))
        assert (error_of(decision), decision.records) == (Error.NONE, ())
        assert response_of(decision).topics[0].partitions[0].partition_epoch == 3


@pytest.mark.parametrize("broker", [(9, 900), (1, 99), (1, 101), (1, -1)])
def test_the_broker_epoch_must_be_equal(broker: tuple[int, int]) -> None:
    decision = decide(wanted(0, [1]), broker=broker)
    assert response_of(decision).error_code == Error.STALE_BROKER_EPOCH
    assert decision.records == ()


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        (wanted(9, [1]), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (wanted(2, [1]), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (wanted(0, [1], leader_epoch=8), Error.NOT_CONTROLLER),
        (wanted(0, [1], partition_epoch=4), Error.NOT_CONTROLLER),
        (wanted(0, [1], leader_epoch=6), Error.FENCED_LEADER_EPOCH),
        (wanted(0, [1], partition_epoch=2), Error.INVALID_UPDATE_VERSION),
        (wanted(1, [1, 2]), Error.INVALID_REQUEST),  # broker 2 is the leader
        (wanted(0, [1, 1]), Error.INVALID_REQUEST),
        (wanted(0, [1, 4]), Error.INVALID_REQUEST),  # broker 4 is no replica
        (wanted(0, [1], leader_recovery_state=LeaderRecoveryState.RECOVERING), Error.INVALID_REQUEST),
        (wanted(0, [1, 2], leader_recovery_state=LeaderRecoveryState.RECOVERING), Error.INVALID_REQUEST),
        (with_epochs(0, b1=100, b3=299), Error.INELIGIBLE_REPLICA),
    ],
)
def test_rejections(partition: AlterPartitionRequest.PartitionData, error: Error) -> None:
    decision = decide(partition)
    assert (error_of(decision), decision.records) == (error, ())


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("broker", "isr", "state"),
    [
        ((1, 100), [2], "2/8/4 isr 2"),  # the leader: another member of the ISR is elected
        ((1, 100), [2, 3], "2/8/4 isr 2"),  # broker 3 of its ISR is not added
        ((2, 200), [1], "1/8/4 isr 1"),  # a follower
        ((3, 300), [1], "1/8/4 isr 1 2"),  # no member: the new epoch fences an AlterPartition that would add it
    ],
)
def test_a_replica_takes_itself_out_of_the_isr(broker: tuple[int, int], isr: list[int], state: str) -> None:
    decision = decide(wanted(0, isr, partition_epoch=1), broker=broker)
    assert states(decision) == {"t-0": state}
    assert decision.effects == (LeadersAnnounced((tp(0),)),)
    [result] = response_of(decision).topics[0].partitions
    assert (result.error_code, result.leader_epoch, result.partition_epoch) == (Error.NONE, 8, 4)


@pytest.mark.parametrize(
    ("isr", "shutting_down", "broker"),
    [("1", (), 1), ("1 2", (2,), 1), ("2", (), 2)],
    ids=["alone", "the other one goes", "the last member follows"],
)
def test_the_last_replica_that_can_lead_stays_in_the_isr(isr: str, shutting_down: tuple[int, ...], broker: int) -> None:
    context = make_context(
        1, 2, 3, topics={"t": {0: f"1* 2 3 isr {isr}"}}, shutting_down=frozenset(shutting_down)
    )  # fmt: skip
    data = AlterPartitionRequest.TopicData(topic_id=topic_id("t"), partitions=[wanted(0, [3])])
    request = AlterPartitionRequest(broker_id=broker, broker_epoch=broker * 100, topics=[data])
    decision = alter_partition(context, inputs(), request)
    assert (error_of(decision), decision.records) == (Error.INELIGIBLE_REPLICA, ())


def test_some_leave_and_others_change() -> None:
    decision = decide(wanted(0, [1]), wanted(1, [2], partition_epoch=0))
    assert states(decision) == {"t-0": "1/7/4 isr 1", "t-1": "2/8/4 isr 2"}
    assert decision.effects == (MetadataAnnounced((tp(0),)), LeadersAnnounced((tp(1),)))


def test_the_error_for_an_unknown_topic_depends_on_id_or_name_in_the_request() -> None:
    assert error_of(decide(wanted(0, [1]), topic=b"?" * 16)) is Error.UNKNOWN_TOPIC_ID
    assert error_of(decide(wanted(0, [1]), topic="none")) is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of(decide(wanted(0, [1]), topic=topic_id("going"))) is Error.UNKNOWN_TOPIC_ID


def test_members_that_are_offline_or_shutting_down() -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2 3 isr 1"}}, shutting_down=frozenset({2}))
    for member in (2, 3):
        for topic, error in ((topic_id("t"), Error.INELIGIBLE_REPLICA), ("t", Error.OPERATION_NOT_ATTEMPTED)):
            name, made = (topic, ZERO_UUID) if isinstance(topic, str) else ("", topic)
            data = AlterPartitionRequest.TopicData(topic_name=name, topic_id=made, partitions=[wanted(0, [1, member])])
            request = AlterPartitionRequest(broker_id=1, broker_epoch=100, topics=[data])
            assert error_of(alter_partition(context, inputs(), request)) is error


def test_member_epochs_of_version_3() -> None:
    assert states(decide(with_epochs(0, b1=100, b3=300))) == {"t-0": "1/7/4 isr 1 3"}
    assert states(decide(with_epochs(0, b1=-1, b3=-1))) == {"t-0": "1/7/4 isr 1 3"}


def test_each_partition_of_a_request_gets_its_own_result() -> None:
    decision = decide(wanted(0, [1]), wanted(1, [1, 2]))
    assert [each.error_code for each in response_of(decision).topics[0].partitions] == [
        Error.NONE,
        Error.INVALID_REQUEST,
    ]
    assert states(decision) == {"t-0": "1/7/4 isr 1"}
