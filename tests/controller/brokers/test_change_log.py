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
from tests.controller.cluster import inputs, registration
from tests.controller.contexts import live, make_context

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
