"""The state machine as transcripts: reported events and returned actions. Times are numbers in ms, without a clock."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from signalbox.client.cluster.quarantine import FORGET_AFTER_MS, Quarantine
from signalbox.client.cluster.rebootstrap import ClusterIdPolicy, Rebootstrap, RecoveryPolicy
from signalbox.client.cluster.rebootstrap_table import Action, Phase
from signalbox.client.connection.node import Address, Identity

A, B = "cluster-A", "cluster-B"
NODE_1, NODE_2 = (1, Address("h1", 9092)), (2, Address("h2", 9092))


def rebootstrap(cluster_id_policy: str = "follow", **policy: Any) -> Rebootstrap:
    return Rebootstrap(RecoveryPolicy(**policy), ClusterIdPolicy(cluster_id_policy), Quarantine())


def receive(it: Rebootstrap, cluster_id: str | None = A, now_ms: float = 0) -> Action:
    return it.metadata_received(it.generation, cluster_id, 3, 0, now_ms)


def steady(cluster_id_policy: str = "follow", **policy: Any) -> Rebootstrap:
    it = rebootstrap(cluster_id_policy, **policy)
    assert receive(it) is Action.ADOPT
    return it


@pytest.mark.spec("R4")
def test_nothing_is_sent_while_bootstrapping_and_both_halves_afterwards() -> None:
    it = rebootstrap()
    assert it.identity_of(1) is None
    assert receive(it) is Action.ADOPT
    assert it.identity_of(1) == Identity(A, 1)
    assert it.identity_of(-1) is None


@pytest.mark.spec("R4")
@pytest.mark.parametrize("policy", [{"metadata_recovery_strategy": "none"}, {"cluster_check_enabled": False}])
def test_a_client_that_cannot_act_on_a_rejection_sends_no_identity(policy: dict[str, Any]) -> None:
    assert steady(**policy).identity_of(1) is None


@pytest.mark.spec("R4")
def test_a_cluster_without_an_id_is_adopted_and_no_half_identity_is_sent() -> None:
    it = rebootstrap()
    assert receive(it, None) is Action.ADOPT
    assert it.identity_of(1) is None


@pytest.mark.spec("R5")
def test_a_rejected_route_rebootstraps_and_discards_the_cluster() -> None:
    it = steady()
    assert it.route_rejected(NODE_1, it.generation, 5_000) is Action.START_OVER
    assert (it.phase, it.cluster_id, it.generation, it.starts_over) == (Phase.BOOTSTRAP, None, 1, 1)
    assert it.identity_of(2) is None


@pytest.mark.spec("R5")
def test_rejections_of_the_same_start_collapse_into_one() -> None:
    it = steady()
    generation = it.generation
    assert it.route_rejected(NODE_1, generation, 0) is Action.START_OVER
    assert it.route_rejected(NODE_1, generation, 1) is Action.IGNORE
    assert it.route_rejected(NODE_2, generation, 2) is Action.IGNORE
    assert it.starts_over == 1


@pytest.mark.spec("R5")
def test_late_metadata_of_the_old_generation_neither_cancels_nor_ends_a_rebootstrap() -> None:
    it = steady()
    before = it.generation
    it.route_rejected(NODE_1, before, 0)
    assert it.metadata_received(before, A, 3, 0, 1) is Action.IGNORE
    assert it.metadata_failed(before, 2) is Action.IGNORE
    assert it.phase is Phase.BOOTSTRAP
    assert receive(it, now_ms=3) is Action.ADOPT


@pytest.mark.spec("R6")
def test_the_same_address_rejected_again_is_quarantined_and_other_nodes_stay_in_use() -> None:
    it = steady()
    it.route_rejected(NODE_1, it.generation, 0)
    receive(it, now_ms=10)
    assert it.route_rejected(NODE_1, it.generation, 20) is Action.QUARANTINE
    assert (it.phase, it.cluster_id) == (Phase.STEADY, A)
    assert it.quarantine.holds(NODE_1)
    assert not it.quarantine.holds(NODE_2)
    it.route_verified(NODE_1)
    assert not it.quarantine.holds(NODE_1)


@pytest.mark.spec("R6")
def test_a_route_that_is_wrong_again_and_again_costs_one_rebootstrap_and_other_nodes_stay_in_use() -> None:
    it = steady()
    assert it.route_rejected(NODE_1, it.generation, 0) is Action.START_OVER
    receive(it, now_ms=10)
    for now_ms in (100_000, 200_000, 800_000):  # the next one within ten minutes of the last one
        it.route_verified(NODE_1)
        assert it.route_rejected(NODE_1, it.generation, now_ms) is Action.QUARANTINE
    it.route_verified(NODE_1)
    assert it.route_rejected(NODE_1, it.generation, 800_000 + FORGET_AFTER_MS + 1) is Action.START_OVER
    assert it.starts_over == 2


def test_a_second_node_rejected_right_after_a_rebootstrap_is_quarantined_too() -> None:
    it = steady()
    it.route_rejected(NODE_1, it.generation, 0)
    receive(it, now_ms=10)
    assert it.route_rejected(NODE_2, it.generation, 20) is Action.QUARANTINE
    assert it.starts_over == 1


@pytest.mark.spec("R5")
def test_starting_over_is_limited_to_0_1_2_4_up_to_60_seconds_apart() -> None:
    it = steady()
    now, starts = 0.0, list[float]()
    while len(starts) < 9:
        if it.no_usable_node(now) is Action.START_OVER:
            starts.append(now)
            receive(it, now_ms=now)
        now += 100
    gaps = [round((later - earlier) / 1000) for earlier, later in itertools.pairwise(starts)]
    assert gaps == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_quiet_time_makes_the_next_start_immediate_again() -> None:
    it = steady()
    assert it.no_usable_node(0) is Action.START_OVER
    receive(it, now_ms=1)
    assert it.no_usable_node(500) is Action.IGNORE
    assert it.no_usable_node(600_000) is Action.START_OVER
    receive(it, now_ms=600_001)
    assert it.no_usable_node(600_900) is Action.IGNORE
    assert it.no_usable_node(601_000) is Action.START_OVER


@pytest.mark.spec("R5")
def test_the_timer_runs_from_the_first_failed_attempt() -> None:
    it = steady(rebootstrap_trigger_ms=300_000)
    assert it.wake_at_ms() is None
    assert it.metadata_failed(it.generation, 100_000) is Action.ARM_TIMER
    assert it.metadata_failed(it.generation, 250_000) is Action.IGNORE
    assert it.wake_at_ms() == 400_000
    assert it.tick(399_999) is Action.IGNORE
    assert it.tick(400_000) is Action.START_OVER


def test_metadata_stops_the_timer() -> None:
    it = steady(rebootstrap_trigger_ms=1_000)
    it.metadata_failed(it.generation, 0)
    assert receive(it, now_ms=500) is Action.ADOPT
    assert it.tick(5_000) is Action.IGNORE
    assert it.wake_at_ms() is None


@pytest.mark.spec("R5")
def test_metadata_with_129_starts_over() -> None:
    it = steady()
    assert it.metadata_received(it.generation, A, 3, 129, 5_000) is Action.START_OVER


def test_a_bootstrap_server_that_returns_129_is_skipped_without_another_rebootstrap() -> None:
    it = rebootstrap()
    assert it.metadata_received(it.generation, A, 3, 129, 0) is Action.NEXT_SEED
    assert it.starts_over == 0


def test_metadata_without_brokers_is_no_success() -> None:
    it = rebootstrap()
    assert it.metadata_received(0, A, 0, 0, 0) is Action.NEXT_SEED
    it = steady()
    assert it.metadata_received(it.generation, A, 0, 0, 0) is Action.ARM_TIMER
    assert it.phase is Phase.OVERDUE


def test_failed_rounds_over_the_seeds_are_paused_longer_and_longer() -> None:
    it = rebootstrap(seed_pause_ms=50, seed_pause_max_ms=1_000)
    now, pauses = 0.0, list[float]()
    for _ in range(7):
        assert it.seeds_exhausted(it.generation, now) is Action.PAUSE
        until = it.wake_at_ms()
        assert until is not None
        assert it.tick(until - 1) is Action.IGNORE
        assert it.tick(until) is Action.ASK_SEEDS
        pauses.append(until - now)
        now = until
    assert pauses == [50, 100, 200, 400, 800, 1_000, 1_000]


def test_a_weaker_signal_does_not_disturb_a_round_over_the_seeds() -> None:
    it = rebootstrap()
    assert it.no_usable_node(0) is Action.IGNORE
    assert it.tick(10**9) is Action.IGNORE
    assert it.route_rejected(NODE_1, it.generation, 0) is Action.IGNORE
    assert it.phase is Phase.BOOTSTRAP


def test_follow_goes_where_the_seeds_lead() -> None:
    it = steady()
    it.route_rejected(NODE_1, it.generation, 0)
    assert receive(it, B) is Action.ADOPT
    assert it.identity_of(1) == Identity(B, 1)


def test_a_known_broker_that_speaks_of_another_cluster_is_not_believed() -> None:
    it = steady()
    assert receive(it, B, 5_000) is Action.START_OVER
    assert it.foreign_cluster_id == B


def test_without_the_check_another_cluster_is_adopted_as_before_the_kip() -> None:
    assert receive(steady(cluster_check_enabled=False), B) is Action.ADOPT


@pytest.mark.spec("R6")
@pytest.mark.parametrize("policy", ["pin:cluster-A", "pin-first"])
def test_a_pinned_client_passes_over_seeds_of_another_cluster(policy: str) -> None:
    it = steady(policy)
    it.route_rejected(NODE_1, it.generation, 0)
    assert receive(it, B) is Action.NEXT_SEED
    assert receive(it, None) is Action.NEXT_SEED
    assert receive(it, A) is Action.ADOPT


@pytest.mark.spec("R6")
def test_a_pin_holds_from_the_first_seed_on() -> None:
    it = rebootstrap("pin:cluster-A")
    assert receive(it, B) is Action.NEXT_SEED
    assert it.foreign_cluster_id == B


def test_an_unreadable_policy_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"cluster\.id\.policy 'pin:'"):
        ClusterIdPolicy("pin:")


def test_with_strategy_none_nothing_makes_the_client_start_over() -> None:
    it = steady(metadata_recovery_strategy="none", rebootstrap_trigger_ms=10)
    it.metadata_failed(it.generation, 0)
    assert it.tick(1_000) is Action.IGNORE
    assert it.wake_at_ms() is None
    assert it.no_usable_node(0) is Action.IGNORE
    assert it.metadata_received(it.generation, A, 3, 129, 0) is Action.IGNORE
    assert it.route_rejected(NODE_1, it.generation, 0) is Action.IGNORE
    assert it.starts_over == 0


def test_two_starts_for_another_reason_too_close_together_pause_in_between() -> None:
    it = steady()
    assert receive(it, B, 0) is Action.START_OVER
    assert receive(it, A, 10) is Action.ADOPT
    assert receive(it, B, 20) is Action.START_OVER
    assert it.phase is Phase.PAUSED
    assert it.wake_at_ms() == 1_000


@pytest.mark.spec("R6")
def test_follow_takes_every_cluster() -> None:
    policy = ClusterIdPolicy("follow")
    policy.adopted("a")
    assert policy.accepts("b")
    assert policy.accepts(None)


@pytest.mark.spec("R6")
def test_a_pin_takes_one() -> None:
    policy = ClusterIdPolicy("pin:a")
    assert [policy.accepts(cluster_id) for cluster_id in ("a", "b", None)] == [True, False, False]


@pytest.mark.spec("R6")
def test_pin_first_keeps_the_first_one_it_meets() -> None:
    policy = ClusterIdPolicy("pin-first")
    assert policy.accepts("a")
    policy.adopted("a")
    policy.adopted("b")
    assert [policy.accepts(cluster_id) for cluster_id in ("a", "b", None)] == [True, False, False]


@pytest.mark.spec("R6")
@pytest.mark.parametrize("text", ["", "pin:", "pin", "first", "Follow"])
def test_anything_else_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="none of follow, pin-first, pin:"):
        ClusterIdPolicy(text)
