"""Topics from the store's entries: the readable part of each, and its corrupt entries.

Below a topic the layout has `partitions`, `partitions/<p>` and `partitions/<p>/state`. All other entries there are
ignored (`unknown_entries.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from signalbox.controller.context import ControlledTopic
from signalbox.controller.store.corrupt_entries import TopicCorruption
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata import layout
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.partition_state import PartitionState, decode_partition_state
from signalbox.metadata.entries.topic_assignment import TopicAssignment, decode_topic_assignment
from signalbox.metadata.store.port import Entry, MetadataStore

_PLACE = re.compile(r"(partitions(/(?P<partition>0|[1-9][0-9]{0,9})(?P<state>/state)?)?)?")

Entries = Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class ReadTopic:
    """`topic` is None if it is quarantined as a whole; `corruption` is None if all of it could be read."""

    topic: ControlledTopic | None
    corruption: TopicCorruption | None = None


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
    problems: dict[str, str] = {}
    states: dict[int, PartitionState] = {}
    folders, unreadable = set(), set()
    for partition, is_state, entry in _partition_entries(entries):
        folders.add(partition)
        if not is_state:
            continue
        path = layout.partition_state_path(name, partition)
        try:
            states[partition] = decode_partition_state(path, entry.data, entry.version)
        except BadEntry as error:
            problems[path] = str(error)
            unreadable.add(partition)
    try:
        assignment = _assignment(name, entries[""].data)
    except BadEntry as error:
        return ReadTopic(None, TopicCorruption({layout.topic_path(name): str(error), **problems}))
    if problems and is_going:
        return ReadTopic(None, TopicCorruption(problems))
    topic = ControlledTopic(
        name=name,
        assignment=assignment,
        states=states,
        has_partitions_entry="partitions" in entries,
        bare_partitions=frozenset(folders - states.keys() - unreadable),
        created_after=entries[""].creation_id,
    )
    return ReadTopic(topic, TopicCorruption(problems, frozenset(unreadable)) if problems else None)


async def has_changed(store: MetadataStore, known: Mapping[str, TopicCorruption]) -> bool:
    """Whether the corrupt entries of these topics differ from the `known` ones: an entry was repaired or deleted, or is
    corrupt in another way."""
    for name, corruption in known.items():
        tree = await store.read_tree(layout.topic_path(name))
        entries = by_topic(tree).get(name)
        if entries is None or read_topic(name, entries, is_going=corruption.is_whole).corruption != corruption:
            return True
    return False


def _partition_entries(entries: Entries) -> Iterator[tuple[int, bool, Entry]]:
    for below, entry in entries.items():
        place = _PLACE.fullmatch(below)
        if place is not None and place["partition"]:
            yield int(place["partition"]), place["state"] is not None, entry


def _assignment(name: str, data: bytes | None) -> TopicAssignment:
    if problem := reject_topic_name(name):  # no broker could create a folder of that name
        raise BadEntry(f"{layout.topic_path(name)}: {problem}")
    assignment = decode_topic_assignment(name, data)
    if not assignment.replicas:
        raise BadEntry(f"{layout.topic_path(name)} names no partition")
    return assignment
