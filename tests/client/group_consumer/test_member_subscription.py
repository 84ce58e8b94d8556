from __future__ import annotations

import pytest

from signalbox.client.group_consumer.member_subscription import (
    NO_GENERATION,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from signalbox.common.ids import TopicPartition
from signalbox.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

T0, T2, U1 = TopicPartition("t", 0), TopicPartition("t", 2), TopicPartition("u", 1)


def test_a_subscription_arrives_as_it_was_sent() -> None:
    sent = MemberSubscription(
        member_id="m", topics=frozenset({"t", "u"}), owned=frozenset({U1, T2, T0}), generation=7, rack="r1"
    )
    assert decode_subscription("m", None, encode_subscription(sent)) == sent


def test_the_user_data_is_the_generation_of_the_java_client() -> None:
    data = encode_subscription(MemberSubscription(member_id="m", topics=frozenset({"t"}), generation=300))
    body, _ = ConsumerProtocolSubscription.decode_prefix(data, 3, 2)
    assert body.user_data == b"\0\0\1\x2c"


@pytest.mark.parametrize(
    ("version", "user_data", "generation"),
    [(0, None, NO_GENERATION), (1, b"\0\0\0\5", 5), (1, b"\0\0\0\5more", NO_GENERATION), (2, b"\0\0\0\5", 9)],
)
def test_older_subscriptions_are_read(version: int, user_data: bytes | None, generation: int) -> None:
    body = ConsumerProtocolSubscription(topics=["t"], user_data=user_data, generation_id=9)
    found = decode_subscription("m", "i", version.to_bytes(2, "big") + body.encode(version))
    assert (found.topics, found.generation, found.group_instance_id) == (frozenset({"t"}), generation, "i")


def test_a_newer_subscription_is_read_as_the_newest_one_that_is_known() -> None:
    body = ConsumerProtocolSubscription(topics=["t"], generation_id=4)
    found = decode_subscription("m", None, (9).to_bytes(2, "big") + body.encode(3) + b"more fields")
    assert found.generation == 4


def test_assignments_of_every_version_are_read() -> None:
    assert decode_assignment(encode_assignment([T2, U1, T0])) == {T0, T2, U1}
    assert decode_assignment(b"") == frozenset()
    body = ConsumerProtocolAssignment()
    assert decode_assignment((0).to_bytes(2, "big") + body.encode(0)) == frozenset()


def test_bytes_without_a_version_are_an_error() -> None:
    with pytest.raises(ValueError, match="without a version"):
        decode_assignment(b"\0")


def test_static_members_come_first_by_instance_id() -> None:
    rows = [
        MemberSubscription(member_id="a", topics=frozenset()),
        MemberSubscription(member_id="0", topics=frozenset(), group_instance_id="y"),
        MemberSubscription(member_id="1", topics=frozenset(), group_instance_id="x"),
    ]
    assert [row.member_id for row in sorted(rows, key=lambda row: row.order)] == ["1", "0", "a"]
