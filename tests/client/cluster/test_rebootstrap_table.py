from __future__ import annotations

import pytest

from signalbox.client.cluster.rebootstrap_table import TRANSITIONS, Action, Phase, Signal


@pytest.mark.spec("R5")
def test_every_signal_is_answered_in_every_phase() -> None:
    assert set(TRANSITIONS) == {(phase, signal) for phase in Phase for signal in Signal}


def test_every_phase_and_action_is_reached() -> None:
    assert {phase for phase, _ in TRANSITIONS.values()} == set(Phase)
    assert {action for _, action in TRANSITIONS.values()} == set(Action)


def test_starting_over_always_leads_to_the_seeds_and_adopting_to_a_steady_client() -> None:
    for phase, action in TRANSITIONS.values():
        assert action is not Action.START_OVER or phase is Phase.BOOTSTRAP
        assert action is not Action.ADOPT or phase is Phase.STEADY


@pytest.mark.spec("R5")
def test_a_rebootstrap_under_way_is_not_started_again_nor_cancelled() -> None:
    for (before, signal), (after, action) in TRANSITIONS.items():
        if before is Phase.BOOTSTRAP and signal is not Signal.CLUSTER_ID_OBSERVED:
            assert action is not Action.START_OVER
            assert after in (Phase.BOOTSTRAP, Phase.PAUSED)
