"""Topic names: Kafka's rule."""

from __future__ import annotations

import pytest

from signalbox.controller.topics.topic_name import colliding_topic, reject_topic_name


@pytest.mark.parametrize("name", ["t", "a.b_c-D9", "__consumer_offsets", "...", "x" * 249])
def test_allowed(name: str) -> None:
    assert reject_topic_name(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\n", "a:b", "x" * 250])
def test_rejected_with_the_reason(name: str) -> None:
    assert "Topic name is invalid" in (reject_topic_name(name) or "")


def test_collisions_differ_in_dots_and_underscores_only() -> None:
    existing = {"a_b": "a.b"}
    assert colliding_topic("a_b", existing) == "a.b"
    assert colliding_topic("a.b", existing) is None
    assert colliding_topic("a-b", existing) is None
