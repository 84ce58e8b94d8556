from __future__ import annotations

import pytest

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.states import DELETE_ERRORS, TRANSITIONS, GroupState
from signalbox.protocol.error_table import Error


def test_the_tables_know_every_state() -> None:
    assert set(TRANSITIONS) == set(DELETE_ERRORS) == set(GroupState)


def test_every_living_state_can_die_and_the_dead_stay_dead() -> None:
    assert all(GroupState.DEAD in following for following in TRANSITIONS.values())
    assert TRANSITIONS[GroupState.DEAD] == {GroupState.DEAD}


def test_every_state_can_be_reached_from_an_empty_group() -> None:
    reached, frontier = set(), {GroupState.EMPTY}
    while frontier:
        reached |= frontier
        frontier = {after for state in frontier for after in TRANSITIONS[state]} - reached
    assert reached == set(GroupState)


def test_only_empty_groups_may_be_deleted() -> None:
    assert [state for state, error in DELETE_ERRORS.items() if error is Error.NONE] == [GroupState.EMPTY]


def test_a_step_outside_the_table_is_rejected() -> None:
    group = ClassicGroup("g", lambda: 5)
    with pytest.raises(RuntimeError, match="cannot go from Empty to Stable"):
        group.transition_to(GroupState.STABLE)
    assert group.state is GroupState.EMPTY
