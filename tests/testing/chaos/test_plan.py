"""A seed is a plan, and every plan begins with all that a run must show."""

from __future__ import annotations

from itertools import islice

import pytest

from signalbox.testing.chaos.plan import Fault, Kind, Target, first_hand, plan_faults

SESSION_S = 6.0


@pytest.mark.parametrize("store", ["sqlite", "zookeeper"])
@pytest.mark.parametrize("seed", range(10))
def test_the_first_hand_shows_what_a_run_must_show(seed: int, store: str) -> None:
    first = list(islice(plan_faults(seed, SESSION_S, store), len(first_hand(store))))
    kills = [fault for fault in first if (fault.kind, fault.target) == (Kind.KILL, Target.CONTROLLER)]
    stops = (Kind.PAUSE, Kind.PAUSE_IN_COMMIT)
    long_stops = [fault for fault in first if fault.kind in stops and fault.hold_s > SESSION_S]
    kinds = {fault.kind for fault in first}
    assert len(kills) >= 2
    assert len(long_stops) >= 2
    assert {Kind.REFUSE, Kind.STALL, Kind.MUTE, Kind.STORE_OUTAGE} <= kinds
    assert kinds >= ({Kind.PAUSE_IN_COMMIT} if store == "sqlite" else {Kind.STORE_KILL, Kind.STORE_CUT})
    assert not any(fault.is_hasty for fault in first)


def test_a_seed_is_a_plan() -> None:
    one, same, other = (list(islice(plan_faults(seed, SESSION_S, "sqlite"), 40)) for seed in (7, 7, 8))
    assert one == same
    assert one != other
    assert any(fault.is_hasty for fault in one)


def test_short_stops_leave_the_session_alone() -> None:
    stops = [fault for fault in islice(plan_faults(3, SESSION_S, "sqlite"), 200) if fault.kind is Kind.PAUSE]
    assert all(fault.hold_s < SESSION_S or fault.hold_s > SESSION_S + 0.5 for fault in stops)


def fault(target: Target, draw: float) -> Fault:
    return Fault(Kind.KILL, target, 1.0, 0.5, draw)


def test_who_is_hit_is_settled_when_the_fault_comes() -> None:
    assert fault(Target.CONTROLLER, 0.99).choose([1, 2, 3], 2) == 2
    assert fault(Target.CONTROLLER, 0.99).choose([1, 2, 3], -1) == 3
    assert {fault(Target.BYSTANDER, draw).choose([3, 2, 1], 2) for draw in (0.0, 0.4, 0.9)} == {1, 3}
    assert {fault(Target.ANY, draw).choose([3, 2, 1], 2) for draw in (0.0, 0.4, 0.9)} == {1, 2, 3}
    assert fault(Target.BYSTANDER, 0.9).choose([2], 2) == 2
    assert fault(Target.STORE, 0.9).choose([1, 2, 3], 2) == 0
