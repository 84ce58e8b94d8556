"""Positions as options describe them, and their offsets in a topic."""

from __future__ import annotations

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.offsets import OffsetMap
from signalbox.pipeline.positions.position import Position, PositionError, parse_position, resolve

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Lookup:
    """A topic `t` with two partitions: offsets 3 to 10, and 0 to 7."""

    def offsets(self, _: list[str], position: str | int) -> OffsetMap:
        found = {"earliest": {T0: 3, T1: 0}, "latest": {T0: 10, T1: 7}, 1_000: {T0: 5, T1: 7}}[position]
        return OffsetMap({"t": "id"}, found)


@pytest.mark.spec("P7")
@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", Position(word="earliest")),
        ("@1000", Position(timestamp_ms=1_000)),
        ("t:0:5, t:1:-1", Position(next_offsets={T0: 5, T1: -1})),
        ('{"t": {"0": 5, "1": -2}}', Position(next_offsets={T0: 5, T1: -2})),
        ("a:b:0:5", Position(next_offsets={TopicPartition("a:b", 0): 5})),
    ],
)
def test_every_form_is_read(text: str, position: Position) -> None:
    assert parse_position(text) == position


@pytest.mark.parametrize(
    "text", ["", "middle", "@now", "t:0", "t:x:1", "t:0:-3", "{", "{}", '{"t": 5}', '{"t": {"0": 1.5e}}']
)
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_position(text)


@pytest.mark.spec("P7")
@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("latest", [10, 7]),
        ("@1000", [5, 7]),
        ("t:0:5,t:1:0", [5, 0]),
        ("t:0:-2,t:1:-1,other:0:4", [3, 7]),
    ],
)
def test_a_position_is_an_offset_of_each_partition(text: str, offsets: list[int]) -> None:
    resolved = resolve(parse_position(text), "t", Lookup())
    assert resolved == OffsetMap({"t": "id"}, {T0: offsets[0], T1: offsets[1]})


@pytest.mark.spec("P7")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("t:0:5", "do not name t-1"),
        ("other:0:5", "do not name t-0, t-1"),
        ("t:0:5,t:1:0,t:2:0", "topic t has no such partition"),
        ("t:0:2,t:1:0", "offset 2 is not in partition t-0, which has 3 to 10"),
        ("t:0:5,t:1:8", "offset 8 is not in partition t-1, which has 0 to 7"),
    ],
)
def test_offsets_that_are_not_in_the_topic_are_named(text: str, fault: str) -> None:
    with pytest.raises(PositionError, match=fault):
        resolve(parse_position(text), "t", Lookup())
