"""Counters per topic."""

from __future__ import annotations

from signalbox.replication.topic_stats import FIELDS, TopicStats, total


def test_stats_add_up() -> None:
    one, other = TopicStats(), TopicStats()
    one.appended(100, 3)
    other.appended(10, 1)
    other.add(one)
    assert (other.bytes_in, other.messages_in) == (110, 4)
    assert total("bytes_in", (one, other)) == 210
    assert {name for name in FIELDS if getattr(other, name)} == {"bytes_in", "messages_in"}
