from __future__ import annotations

from tests.coordinator.group.classic.test_classic_group import member

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.messages.sync_group import SyncGroupResponse


def test_whose_silence_is_excused() -> None:
    one = member("a")
    assert not one.outlives_its_session()
    one.awaiting_join = Promise()
    assert one.outlives_its_session()
    one.is_new = True
    assert not one.outlives_its_session()
    one.is_new, one.awaiting_join, one.awaiting_sync = False, None, Promise()
    assert one.outlives_its_session()


def test_a_parked_sync_is_answered_once() -> None:
    one = member("a")
    parked: Promise[SyncGroupResponse] = Promise()
    one.awaiting_sync = parked
    assert one.complete_sync(SyncGroupResponse(assignment=b"x"))
    assert not one.complete_sync(SyncGroupResponse())
    assert parked.result().assignment == b"x"


def test_votes_follow_the_members_own_order() -> None:
    one = member("a", "x", "range", "sticky")
    assert one.vote({"sticky", "range"}) == "range"
    assert one.protocol_names == ["x", "range", "sticky"]
    assert not one.is_static
    assert member("b", instance="i").is_static
