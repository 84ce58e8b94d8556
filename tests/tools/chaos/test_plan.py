"""The seed determines the plan, and every plan begins with all the faults that a run must show."""

from __future__ import annotations

from itertools import islice

import pytest
from tools.chaos.plan import LONG_RUN_S, NEED_ALL_IN_SYNC, Fault, Kind, Target, every_kind, least_faults, plan_faults
from tools.chaos.report import SECONDS_PER_FAULT

SESSION_S = 6.0


@pytest.mark.parametrize("store", ["sqlite", "zookeeper"])
@pytest.mark.parametrize("seed", range(10))
def test_the_first_hand_shows_what_a_run_must_show(seed: int, store: str) -> None:
    first = list(islice(plan_faults(seed, SESSION_S, store), least_faults(store)))
    kills = [fault for fault in first if (fault.kind, fault.target) == (Kind.KILL, Target.CONTROLLER)]
    stops = (Kind.PAUSE, Kind.PAUSE_IN_COMMIT)
    long_stops = [fault for fault in first if fault.kind in stops and fault.hold_s > SESSION_S]
    kinds = {fault.kind for fault in first}
    assert len(kills) >= 2
    assert len(long_stops) >= 2
    assert {Kind.CUT_OFF, Kind.STALL, Kind.MUTE, Kind.STORE_OUTAGE, Kind.DESCRIPTORS} <= kinds
    assert kinds >= ({Kind.PAUSE_IN_COMMIT} if store == "sqlite" else {Kind.STORE_KILL, Kind.STORE_CUT})
    assert len(kinds & NEED_ALL_IN_SYNC) == 1
    assert not any(fault.is_hasty for fault in first)


def test_short_runs_of_other_seeds_have_other_faults_of_disks() -> None:
    drawn = {
        fault.kind
        for seed in range(60)
        for fault in islice(plan_faults(seed, SESSION_S, "sqlite"), least_faults("sqlite"))
    }
    assert drawn & NEED_ALL_IN_SYNC == {Kind.KILL_ALL, Kind.WIPED, Kind.TRUNCATED, Kind.FLIPPED, Kind.RESTORED}


@pytest.mark.parametrize("store", ["sqlite", "zookeeper"])
def test_the_faults_of_a_long_run_show_every_kind(store: str) -> None:
    """They are enough for a run of five minutes that ends a little late, at one fault in ten seconds."""
    assert least_faults(store, is_long=True) * SECONDS_PER_FAULT > LONG_RUN_S
    for seed in range(20):
        faults = list(islice(plan_faults(seed, SESSION_S, store, is_long=True), least_faults(store, is_long=True)))
        kinds = [fault.kind for fault in faults]
        assert set(kinds) >= every_kind(store)
        assert kinds.count(Kind.COPIES_DESTROYED) == 1


def test_short_runs_never_destroy_all_copies() -> None:
    for seed in range(20):
        faults = islice(plan_faults(seed, SESSION_S, "sqlite"), 100)
        assert Kind.COPIES_DESTROYED not in {fault.kind for fault in faults}


def test_what_may_need_every_replica_lets_nothing_come_before_they_are_in_sync() -> None:
    faults = list(islice(plan_faults(5, SESSION_S, "sqlite"), 400))
    assert any(fault.is_hasty for fault in faults)
    assert not any(fault.is_hasty for fault in faults if fault.kind in NEED_ALL_IN_SYNC)


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
