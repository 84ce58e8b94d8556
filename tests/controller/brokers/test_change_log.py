"""Log messages of the controller about brokers and leaders."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

import pytest

from signalbox.controller.brokers.broker_control import brokers_changed
from signalbox.controller.brokers.change_log import log_changes
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.decision import Decision
from signalbox.controller.election.failover import take_over
from signalbox.controller.records import PartitionStateChanged
from signalbox.metadata.broker_history import BrokerHistory
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.registration import RegisteredLogDir
from tests.controller.cluster import inputs, registration
from tests.controller.contexts import live, make_context, tp

TOPICS = {"t": {0: "1* 2 3", 1: "1* 3 2", 2: "3* 1 2"}, "alone": {0: "1* isr 1"}}


def lines(
    caplog: pytest.LogCaptureFixture, context: ControllerContext, *decisions: Decision, found: Collection[int] = ()
) -> list[tuple[str, str]]:
    with caplog.at_level(logging.INFO, "signalbox.controller.brokers.change_log"):
        log_changes(context, decisions, found=found)
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_the_loss_of_a_broker_is_a_warning_and_its_elections_are_named(caplog: pytest.LogCaptureFixture) -> None:
    context = make_context(1, 2, 3, topics=TOPICS)
    assert lines(caplog, context, brokers_changed(context, inputs(), live(2, 3))) == [
        ("WARNING", "Broker 1 is gone: its session has ended without a controlled shutdown"),
        ("INFO", "Leader elected (leader=2, leader before=1, reason=broker 1 is gone, partitions=t-0)"),
        ("INFO", "Leader elected (leader=3, leader before=1, reason=broker 1 is gone, partitions=t-1)"),
        (
            "INFO",
            "Leader lost (leader before=1, reason=broker 1 is gone, partitions=alone-0): no member of the ISR can lead",
        ),
    ]


def test_ordinary_life_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    context = make_context(1, 2, topics={"t": {0: "2* 1"}}, shutting_down=frozenset({2}))
    stopped = brokers_changed(context, inputs(), live(1))
    empty = make_context(1)
    assert lines(caplog, context, stopped)[0] == ("INFO", "Broker 2 has shut down")
    caplog.clear()
    epoch = live(2)[2].broker_epoch
    assert lines(caplog, empty, brokers_changed(empty, inputs(), live(1, 2))) == [
        ("INFO", f"Broker 2 joined (broker epoch={epoch})")
    ]
    caplog.clear()
    again = {**live(1), 1: LiveBroker(registration(1), 999)}
    assert lines(caplog, empty, brokers_changed(empty, inputs(), again)) == [
        ("INFO", "Broker 1 restarted (broker epoch=999)")
    ]


@pytest.mark.parametrize(
    ("partition", "level"),
    [("2* 1 isr 2", "INFO"), ("1* isr 1", "INFO"), ("2* 1", "WARNING"), ("1* 2 isr 1", "WARNING")],
)
def test_a_broker_that_an_earlier_controller_may_have_let_go(
    caplog: pytest.LogCaptureFixture, partition: str, level: str
) -> None:
    context = make_context(1, 2, topics={"t": {0: partition}})
    lost, gone = (
        brokers_changed(context, inputs(), live(2)),
        "Broker 1 is gone: its session has ended without a controlled",
    )
    assert lines(caplog, context, lost, found={context.brokers[1].broker_epoch})[0] == (level, f"{gone} shutdown")
    caplog.clear()
    assert lines(caplog, context, lost)[0][0] == "WARNING"
    caplog.clear()
    first = replace(context, controller_epoch=1)
    assert lines(caplog, first, lost, found={context.brokers[1].broker_epoch})[0][0] == "WARNING"


def test_a_partition_that_waited_gets_its_leader(caplog: pytest.LogCaptureFixture) -> None:
    context = make_context(2, topics={"t": {0: "1 2 isr 1"}})
    assert lines(caplog, context, brokers_changed(context, inputs(), live(1, 2)))[-1] == (
        "INFO",
        "Leader elected (leader=1, leader before=none, reason=a member of the ISR is back, partitions=t-0)",
    )


LOG_DIR = b"d" * 16
ABSENT = "Broker 1 is gone: it is in the ISR of partitions and was not registered when this controller was elected"


def with_log_dir(broker_id: int, previous_broker_epoch: int, broker_epoch: int) -> LiveBroker:
    log_dirs = (RegisteredLogDir(LOG_DIR, previous_broker_epoch),)
    return LiveBroker(registration(broker_id, log_dirs=log_dirs), broker_epoch)


def test_a_broker_that_was_lost_before_the_election_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Leader of two partitions, follower of the third: its registration ended while there was no controller."""
    context = make_context(2, 3, topics=TOPICS)
    found = {broker.broker_epoch for broker in context.brokers.values()}
    logged = lines(caplog, context, take_over(context, inputs()), found=found)
    assert [line for line in logged if line[0] == "WARNING"] == [("WARNING", ABSENT)]
    assert ("INFO", "Leader elected (leader=2, leader before=1, reason=broker 1 is gone, partitions=t-0)") in logged


@pytest.mark.parametrize("partition", ["2* 1", "1* 2 isr 1"])
def test_a_lost_follower_and_a_lost_last_member_of_the_isr_are_warnings(
    caplog: pytest.LogCaptureFixture, partition: str
) -> None:
    context = make_context(2, topics={"t": {0: partition}})
    assert ("WARNING", ABSENT) in lines(caplog, context, take_over(context, inputs()))


@pytest.mark.parametrize("partition", ["2* 1 isr 2", "1* isr 1", "1 2 isr 1"])
def test_a_broker_that_may_have_shut_down_before_the_election_is_none(
    caplog: pytest.LogCaptureFixture, partition: str
) -> None:
    context = make_context(2, topics={"t": {0: partition}})
    logged = lines(caplog, context, take_over(context, inputs()))
    assert not any("gone: it is in the ISR" in text or level == "WARNING" for level, text in logged)


def test_brokers_that_are_absent_while_the_whole_cluster_starts_are_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Broker 2 has registered again, too: no broker has outlived the last controller."""
    brokers = {2: with_log_dir(2, 200, 300)}
    histories = {2: BrokerHistory(200, (LOG_DIR,))}
    starting = make_context(topics=TOPICS, brokers=brokers, histories=histories)
    assert lines(caplog, starting, take_over(starting, inputs()))[-2:] == [
        ("INFO", ABSENT),
        ("INFO", ABSENT.replace("Broker 1", "Broker 3")),
    ]
    caplog.clear()
    running = replace(starting, histories={2: BrokerHistory(300, (LOG_DIR,))})
    assert ("WARNING", ABSENT) in lines(caplog, running, take_over(running, inputs()))


@pytest.mark.parametrize(
    ("previous_broker_epoch", "logged"),
    [
        (100, ("INFO", "Broker 1 restarted (broker epoch=300)")),
        (-1, ("WARNING", "Broker 1 restarted after an unclean shutdown (broker epoch=300)")),
    ],
)
def test_a_broker_that_registered_again_within_one_event(
    caplog: pytest.LogCaptureFixture, previous_broker_epoch: int, logged: tuple[str, str]
) -> None:
    context = replace(make_context(1, 2, topics=TOPICS), histories={1: BrokerHistory(100, (LOG_DIR,))})
    now = {**live(1, 2), 1: with_log_dir(1, previous_broker_epoch, 300)}
    assert lines(caplog, context, brokers_changed(context, inputs(), now))[0] == logged


def test_a_broker_that_joined_in_the_same_batch_is_not_absent(caplog: pytest.LogCaptureFixture) -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2 3 isr 1 2"}})
    joined = brokers_changed(context, inputs(), live(1, 2, 3))
    state = PartitionState(1, 7, (1, 2, 3), 4, 4)
    grown = Decision(records=(PartitionStateChanged(tp(0), state),))
    shrunk = Decision(records=(PartitionStateChanged(tp(0), replace(state, isr=(1, 2))),))
    assert [level for level, _ in lines(caplog, context, joined, grown, shrunk)] == ["INFO"]
