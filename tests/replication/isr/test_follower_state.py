"""When a follower counts as caught up (KIP-16), as a sequence of fetches."""

from __future__ import annotations

import pytest

from signalbox.replication.isr.follower_state import UNKNOWN_OFFSET, FollowerState

pytestmark = pytest.mark.spec("D3")

START = 1_000_000
LAG = 30_000


def follower(*, in_sync: bool = True) -> FollowerState:
    state = FollowerState(2, {})
    state.reset(START, 100, new_leader=True, in_sync=in_sync)
    return state


# (fetches as (offset, leader's log end, ms since start), time of the check in ms since start, in sync?)
HISTORIES = {
    "never fetched, within the lag time": ([], LAG, True),
    "never fetched, too long": ([], LAG + 1, False),
    "always at the end": ([(100, 100, 10), (150, 150, 40_000)], 70_000, True),
    "fetches where the leader's end was before": ([(90, 100, 10), (100, 200, 20_000)], 30_010, True),
    "the same, but too long ago": ([(90, 100, 10), (100, 200, 20_000)], 30_011, False),
    "fetches, but never catches up": ([(10, 100, 10), (20, 200, 20_000), (30, 300, 40_000)], 40_000, False),
    "at the end whatever the time": ([(200, 200, 10)], 10_000_000, True),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_caught_up(name: str) -> None:
    fetches, question_ms, expected = HISTORIES[name]
    state = follower()
    end = 100 if not fetches else fetches[-1][1]
    for offset, leader_end, at_ms in fetches:
        state.record_fetch(offset, 0, leader_end, START + at_ms)
    assert state.is_caught_up(end if fetches else 101, START + question_ms, LAG) is expected


def test_a_follower_outside_of_the_isr_has_to_prove_itself() -> None:
    assert not follower(in_sync=False).is_caught_up(101, START, LAG)


def test_a_new_leader_resets_follower_offsets_and_an_old_one_keeps_them() -> None:
    state = follower()
    state.record_fetch(70, 5, 100, START + 10)
    state.broker_epoch = 9
    state.reset(START + 20, 100, new_leader=False, in_sync=True)
    assert (state.log_end_offset, state.log_start_offset, state.broker_epoch) == (70, 5, 9)
    assert state.last_caught_up_ms == START + 20
    state.reset(START + 30, 100, new_leader=True, in_sync=True)
    assert (state.log_end_offset, state.log_start_offset, state.broker_epoch) == (UNKNOWN_OFFSET, UNKNOWN_OFFSET, -1)
