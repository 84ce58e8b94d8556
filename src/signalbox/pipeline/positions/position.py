"""A position in a topic: `earliest`, `latest`, offsets of the partitions, or a time.

Texts, as options have them: the words; `@1795719600000`, milliseconds since the epoch; Spark's JSON
`{"flights": {"0": 5, "1": -1}}` with -2 for earliest and -1 for latest; `flights:0:5,flights:1:7`. A time means, in
each partition, the first record that is not older, or the end if there is none. Offsets must name every partition, as
in Spark: a partition that was forgotten would be read from an unexpected offset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.offsets import OffsetMap

WORDS = ("earliest", "latest")
EXPECTED = 'expected earliest, latest, {"topic": {"0": 5}} or topic:0:5,topic:1:7'
_LATEST, _EARLIEST = -1, -2


class PositionError(RuntimeError):
    """A position that is not in the topic."""


class OffsetLookup(Protocol):
    """What the cluster knows of offsets (`topic_client.py`)."""

    def offsets(self, topics: list[str], position: str | int) -> OffsetMap:
        """The offsets of all partitions at a word or at a time in milliseconds."""


@dataclass(frozen=True, slots=True)
class Position:
    """One of the three: a word, a time, or offsets per partition."""

    word: str = ""
    timestamp_ms: int | None = None
    next_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


def parse_position(text: str) -> Position:
    """The position that a text describes. Raises ValueError."""
    if text in WORDS:
        return Position(word=text)
    if text.startswith("@"):
        if not text[1:].isdecimal():
            raise ValueError(f"{text!r}: expected @ and milliseconds since the epoch")
        return Position(timestamp_ms=int(text[1:]))
    entries = _of_json(text) if text.lstrip().startswith("{") else _of_list(text)
    if not entries or any(offset < _EARLIEST for offset in entries.values()):
        raise ValueError(f"{text!r} is no position: {EXPECTED}")
    return Position(next_offsets=entries)


def _of_json(text: str) -> dict[TopicPartition, int]:
    try:
        content: Any = json.loads(text)
        return {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, partitions in content.items()
            for partition, offset in partitions.items()
        }
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{text!r} is no position: {EXPECTED}") from None


def _of_list(text: str) -> dict[TopicPartition, int]:
    entries = {}
    for entry in text.split(","):
        where, _, offset = entry.strip().rpartition(":")
        topic, _, partition = where.rpartition(":")
        if not topic or not partition.isdecimal() or not offset.removeprefix("-").isdecimal():
            raise ValueError(f"{text!r} is no position: {EXPECTED}")
        entries[TopicPartition(topic, int(partition))] = int(offset)
    return entries


def resolve(position: Position, topic: str, lookup: OffsetLookup) -> OffsetMap:
    """The offset of each partition of the topic. Raises PositionError, TopicError."""
    if position.word:
        return lookup.offsets([topic], position.word)
    if position.timestamp_ms is not None:
        return lookup.offsets([topic], position.timestamp_ms)
    named = {tp: offset for tp, offset in position.next_offsets.items() if tp.topic == topic}
    earliest, latest = lookup.offsets([topic], "earliest"), lookup.offsets([topic], "latest")
    missing = [str(tp) for tp in sorted(latest.next_offsets) if tp not in named]
    if missing:
        raise PositionError(f"the offsets do not name {', '.join(missing)}: every partition needs one (-2 is earliest)")
    resolved = {}
    for tp, offset in named.items():
        if tp not in latest.next_offsets:
            raise PositionError(f"the offsets name {tp}, but topic {topic} has no such partition")
        first, end = earliest.next_offsets[tp], latest.next_offsets[tp]
        resolved[tp] = {_EARLIEST: first, _LATEST: end}.get(offset, offset)
        if not first <= resolved[tp] <= end:
            raise PositionError(f"offset {offset} is not in partition {tp}, which has {first} to {end}")
    return OffsetMap(latest.topic_ids, resolved)
