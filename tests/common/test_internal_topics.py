"""One list of internal topics, for producers and in metadata responses."""

from __future__ import annotations

from signalbox.common.internal_topics import INTERNAL_TOPICS


def test_as_in_kafka() -> None:
    assert {"__consumer_offsets", "__transaction_state", "__share_group_state"} == INTERNAL_TOPICS
