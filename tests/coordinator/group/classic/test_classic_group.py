from __future__ import annotations

import pytest
from tests.coordinator.bench import subscription

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.member import ClientContext, Member, Timeouts
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupResponse


def member(member_id: str, *protocols: str, instance: str | None = None, topics: tuple[str, ...] = ("t",)) -> Member:
    data = subscription(*topics)
    return Member(
        member_id,
        instance,
        ClientContext("c", "/h", 9),
        Timeouts(10_000, 60_000),
        "consumer",
        tuple((name, data) for name in protocols or ("range",)),
    )


def group_of(*members: Member) -> ClassicGroup:
    group = ClassicGroup("g", lambda: 7)
    for one in members:
        group.add(one, Promise())
    group.transition_to(GroupState.PREPARING_REBALANCE)
    return group


def test_the_first_member_leads_and_sets_the_type() -> None:
    group = group_of(member("a"), member("b"))
    assert (group.leader_id, group.protocol_type, group.awaiting_join_count) == ("a", "consumer", 2)
    assert group.all_joined


def test_when_the_leader_goes_the_next_member_leads() -> None:
    group = group_of(member("a"), member("b"))
    group.remove("a")
    assert (group.leader_id, group.awaiting_join_count) == ("b", 1)
    group.remove("b")
    group.remove("never there")
    assert (group.leader_id, group.awaiting_join_count, group.members) == (None, 0, {})


def test_a_pending_member_keeps_a_group_from_being_complete() -> None:
    group = group_of(member("a"))
    group.pending_join.add("b")
    assert not group.all_joined
    group.add(member("b"), Promise())
    assert group.all_joined


def test_the_protocol_is_one_that_all_support_preferred_by_most() -> None:
    group = group_of(
        member("a", "x", "range", "sticky"), member("b", "sticky", "range"), member("c", "sticky", "range")
    )
    assert group.choose_protocol() == "sticky"
    group.update(group.members["c"], member("c", "range").protocols, Timeouts(1, 2))
    assert group.choose_protocol() == "range"
    assert group.supports("consumer", ["range"])
    assert not group.supports("consumer", ["sticky"])
    assert not group.supports("connect", ["range"])


def test_an_empty_group_supports_anything_that_is_something() -> None:
    group = ClassicGroup("g", lambda: 7)
    assert group.supports("anything", ["x"])
    assert not group.supports("", ["x"])
    assert not group.supports("anything", [])


def test_a_leader_that_did_not_join_gives_way_to_one_that_did() -> None:
    group = group_of(member("a"), member("b"), member("c"))
    for member_id in ("a", "b"):
        group.complete_join(group.members[member_id], JoinGroupResponse())
    assert group.elect_joined_leader()
    assert group.leader_id == "c"
    group.complete_join(group.members["c"], JoinGroupResponse())
    assert not group.elect_joined_leader()


def test_a_static_member_keeps_its_place_under_a_new_id() -> None:
    group = group_of(member("a", instance="i"), member("b"))
    group.pending_sync.add("a")
    kept = group.replace_static("a", "a2")
    assert (kept.member_id, group.leader_id, group.static_member_id("i")) == ("a2", "a2", "a2")
    assert set(group.members) == {"a2", "b"}
    assert group.pending_sync == {"a2"}
    assert group.check_member("a2", "i") is Error.NONE
    assert group.check_member("a", "i") is Error.FENCED_INSTANCE_ID
    assert group.check_member("a2", "other") is Error.UNKNOWN_MEMBER_ID
    assert group.check_member("a", None) is Error.UNKNOWN_MEMBER_ID


def test_a_generation_begins_with_protocol_subscription_and_time() -> None:
    group = group_of(member("a", topics=("t", "u")), member("b", topics=("v",)))
    group.next_generation()
    assert (group.generation_id, group.protocol_name, group.state) == (1, "range", GroupState.COMPLETING_REBALANCE)
    assert group.subscribed == frozenset({"t", "u", "v"})
    assert group.state_timestamp_ms == 7
    assert group.is_subscribed_to("u")
    assert not group.is_subscribed_to("w")


def test_a_generation_without_members_is_an_empty_group() -> None:
    group = group_of(member("a"))
    group.remove("a")
    group.next_generation()
    assert (group.generation_id, group.protocol_name, group.state) == (1, None, GroupState.EMPTY)
    assert group.subscribed == frozenset()


def test_what_cannot_be_read_counts_as_subscribed_to_everything_for_consumers_only() -> None:
    unreadable = member("a")
    unreadable.protocols = (("range", b"\xff"),)
    group = group_of(unreadable)
    group.next_generation()
    assert group.subscribed is None
    assert group.is_subscribed_to("anything")
    group.protocol_type = "connect"
    assert not group.is_subscribed_to("anything")


def test_the_rebalance_timeout_is_the_longest_of_the_members() -> None:
    group = group_of(member("a"), member("b"))
    group.members["b"].timeouts = Timeouts(1, 90_000)
    assert group.rebalance_timeout_ms == 90_000
    assert ClassicGroup("g", lambda: 7).rebalance_timeout_ms == 0


def test_a_member_must_support_what_it_is_asked_about() -> None:
    with pytest.raises(ValueError, match="supports none"):
        member("a", "range").vote({"sticky"})
    with pytest.raises(ValueError, match="does not support"):
        member("a", "range").metadata("sticky")
