from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.coordinator.group.classic.subscription import subscribed_topics
from signalbox.protocol.messages.consumer_protocol import ConsumerProtocolSubscription


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
