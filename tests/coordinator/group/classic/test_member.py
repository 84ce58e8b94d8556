from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coordinator.group.classic.test_classic_group import member

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group.classic.member import subscribed_topics
from signalbox.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
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


@pytest.mark.parametrize("version", range(4))
def test_all_versions_begin_alike(version: int) -> None:
    data = ConsumerProtocolSubscription(topics=["t", "ü"], user_data=b"u").encode(version)
    assert subscribed_topics(version.to_bytes(2, "big") + data) == ["t", "ü"]


@given(st.binary(max_size=60))
def test_anything_else_is_rejected_with_a_word(data: bytes) -> None:
    try:
        topics = subscribed_topics(data)
    except ValueError:
        return
    assert all(isinstance(topic, str) for topic in topics)


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\x01\0\x05abc", b"\0\0\0\0\0\x02\0\x01a", b"\xff\xff\0\0\0\0"]
)
def test_corrupt_subscriptions(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"subscription"):
        subscribed_topics(data)
