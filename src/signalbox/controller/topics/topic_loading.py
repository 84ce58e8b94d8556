"""Topics from the store's entries: the readable part of each, and its corrupt entries.

Below a topic the layout has `partitions`, `partitions/<p>` and `partitions/<p>/state`. All other entries there are
ignored (`layout.unknown_entries_in`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from signalbox.controller.context import ControlledTopic
from signalbox.controller.store.topic_corruption import TopicCorruption
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata import layout
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.partition_state import PartitionState, decode_partition_state
from signalbox.metadata.entries.topic_assignment import TopicAssignment, decode_topic_assignment
from signalbox.metadata.store.port import Entry

_PLACE = re.compile(r"(partitions(/(?P<partition>0|[1-9][0-9]{0,9})(?P<state>/state)?)?)?")

Entries = Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class ReadTopic:
    """`topic` is None if it is quarantined as a whole; `corruption` is None if all of it could be read. `corrupt`: its
    corrupt entries, which are not logged yet."""

    topic: ControlledTopic | None
    corruption: TopicCorruption | None = None
    corrupt: CorruptEntries = field(default_factory=CorruptEntries)


def by_topic(tree: Entries) -> dict[str, dict[str, Entry]]:
    """Entries of each topic by their path below it ("" is the topic's own)."""
    topics: dict[str, dict[str, Entry]] = {}
    for path, entry in tree.items():
        if not path.startswith(f"{layout.TOPICS}/"):
            continue
        name, _, below = path.removeprefix(layout.TOPICS).lstrip("/").partition("/")
        if name:
            topics.setdefault(name, {})[below] = entry
    return {name: entries for name, entries in topics.items() if "" in entries}


def read_topic(name: str, entries: Entries, is_going: bool = False) -> ReadTopic:
    """One topic. With a deletion mark (`is_going`) a topic with any corrupt entry is quarantined as a whole: a partly
    deleted topic gets no leaders again."""
    corrupt = CorruptEntries()
    path = layout.topic_path(name)
    assignment = corrupt.collect(EntryKind.TOPIC, path, entries[""].data, partial(_assignment, name), None)
    states: dict[int, PartitionState] = {}
    folders, unreadable = set(), set()
    for partition, is_state, entry in _partition_entries(entries):
        folders.add(partition)
        if not is_state:
            continue
        path = layout.partition_state_path(name, partition)
        decode = partial(decode_partition_state, entry_version=entry.version)
        state = corrupt.collect(EntryKind.TOPIC, path, entry.data, decode, None)
        if state is None:
            unreadable.add(partition)
        else:
            states[partition] = state
    if assignment is None or (unreadable and is_going):
        return ReadTopic(None, TopicCorruption(corrupt.problems), corrupt)
    topic = ControlledTopic(
        name=name,
        assignment=assignment,
        states=states,
        has_partitions_entry="partitions" in entries,
        bare_partitions=frozenset(folders - states.keys() - unreadable),
        created_after=entries[""].creation_id,
    )
    corruption = TopicCorruption(corrupt.problems, frozenset(unreadable)) if unreadable else None
    return ReadTopic(topic, corruption, corrupt)


def _partition_entries(entries: Entries) -> Iterator[tuple[int, bool, Entry]]:
    for below, entry in entries.items():
        place = _PLACE.fullmatch(below)
        if place is not None and place["partition"]:
            yield int(place["partition"]), place["state"] is not None, entry


def _assignment(name: str, path: str, data: bytes | None) -> TopicAssignment:
    if problem := reject_topic_name(name):  # no broker could create a folder of that name
        raise BadEntry(f"{path}: {problem}")
    assignment = decode_topic_assignment(name, data)
    if not assignment.replicas:
        raise BadEntry(f"{path} names no partition")
    return assignment
