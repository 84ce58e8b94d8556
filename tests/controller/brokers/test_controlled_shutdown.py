"""ControlledShutdown: leadership moves before the broker stops (SPEC C3)."""

from __future__ import annotations

import pytest

from signalbox.controller.brokers.controlled_shutdown import controlled_shutdown
from signalbox.controller.decision import Decision, LeadersAnnounced, ReplicasStopped
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context, states, tp

CONTEXT = make_context(
    1, 2, 3,
    topics={
        "t": {
            0: "1* 2 3",  # led: moves
            1: "2* 1 3",  # followed: stopped, out of the ISR
            2: "1* 2 isr 1",  # led, no other replica in sync: remains
            3: "1*",  # no other replica: not counted
            4: "2* 1 isr 2",  # followed, not in sync: only stopped
            5: "2* 3",
        },
        "going": {0: "1* 2"},
    },
    deleting={"going": frozenset()},
)  # fmt: skip


def decide(broker_id: int = 1, broker_epoch: int = 100) -> Decision:
    return controlled_shutdown(
        CONTEXT, inputs(), ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    )


def response_of(decision: Decision) -> ControlledShutdownResponse:
    assert isinstance(decision.response, ControlledShutdownResponse)
    return decision.response


def test_leaders_move_and_followers_stop() -> None:
    decision = decide()
    assert states(decision) == {"t-0": "2/8/4 isr 2 3", "t-1": "2/8/4 isr 2 3"}
    assert decision.effects == (
        LeadersAnnounced((tp(0), tp(1))),
        ReplicasStopped(1, (tp(1), tp(4)), delete=False),
    )
    response = response_of(decision)
    assert response.error_code == Error.NONE
    assert [(each.topic_name, each.partition_index) for each in response.remaining_partitions] == [("t", 2)]
    assert after(CONTEXT, decision).shutting_down == {1}


def test_asking_again_tells_what_is_left() -> None:
    context = after(CONTEXT, decide())
    again = controlled_shutdown(context, inputs(), ControlledShutdownRequest(broker_id=1, broker_epoch=100))
    assert states(again) == {}
    assert len(response_of(again).remaining_partitions) == 1


@pytest.mark.parametrize(
    ("broker_id", "broker_epoch", "error"),
    [
        (1, 99, Error.STALE_BROKER_EPOCH),
        (1, 101, Error.NONE),
        (1, -1, Error.NONE),
        (9, -1, Error.BROKER_NOT_AVAILABLE),
        (9, 900, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_broker_epochs(broker_id: int, broker_epoch: int, error: Error) -> None:
    assert response_of(decide(broker_id, broker_epoch)).error_code == error
