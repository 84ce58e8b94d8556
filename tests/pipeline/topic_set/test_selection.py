"""Which topics a run reads."""

from __future__ import annotations

import pytest

from signalbox.pipeline.options import OptionError
from signalbox.pipeline.topic_set.selection import TopicSelection


@pytest.mark.spec("P3")
def test_names_come_in_their_order_and_once() -> None:
    selection = TopicSelection.of(["b,a", "c", "a"])
    assert selection.names == ("b", "a", "c")
    assert selection.topics(()) == ["b", "a", "c"]
    assert not selection.is_one
    assert TopicSelection.of(["a"]).is_one


@pytest.mark.spec("P3")
def test_a_pattern_matches_whole_names_and_no_internal_topic() -> None:
    existing = ["sales-2", "sales-1", "old-sales-1", "__consumer_offsets", "named"]
    assert TopicSelection.of(["named"], "sales-.*").topics(existing) == ["named", "sales-1", "sales-2"]
    assert "__consumer_offsets" not in TopicSelection.of([], ".*").topics(existing)


@pytest.mark.parametrize(("names", "pattern", "fault"), [([","], None, "no topic is named"), ([], "(", "no regular")])
def test_a_selection_of_nothing_is_rejected(names: list[str], pattern: str | None, fault: str) -> None:
    with pytest.raises(OptionError, match=fault):
        TopicSelection.of(names, pattern)
