"""Topics decoded from entries, and the description of corrupt ones."""

from __future__ import annotations

import pytest

from signalbox.controller.topics.topic_loading import read_topic
from signalbox.metadata.store.port import Entry

ASSIGNMENT = b'{"version":3,"partitions":{"0":[1,2],"1":[2,1]}}'
STATE = b'{"version":1,"leader":1,"leader_epoch":3,"controller_epoch":4,"isr":[1,2]}'


def entries(**changed: bytes | None) -> dict[str, Entry]:
    """A topic's entries; `topic`, `state_0`, `state_1` replace their data."""
    held: dict[str, bytes | None] = {
        "": changed.get("topic", ASSIGNMENT),
        "partitions": None,
        **{f"partitions/{number}": None for number in (0, 1)},
        **{f"partitions/{number}/state": changed.get(f"state_{number}", STATE) for number in (0, 1)},
    }
    return {path: Entry(data, 6, 1, 0) for path, data in held.items()}


def test_a_complete_topic() -> None:
    read = read_topic("t", entries())
    assert read.corruption is None
    assert read.topic is not None
    assert read.topic.assignment.replicas == {0: (1, 2), 1: (2, 1)}
    assert {number: state.partition_epoch for number, state in read.topic.states.items()} == {0: 6, 1: 6}
    assert read.topic.bare_partitions == frozenset()


@pytest.mark.parametrize("payload", [None, b"", b"?", b"[]", b"\xff", b"{}", b'{"partitions":{}}', b"[" * 100_000])
def test_a_corrupt_assignment_quarantines_the_topic(payload: bytes | None) -> None:
    read = read_topic("t", entries(topic=payload, state_1=b"?"))
    assert read.topic is None
    assert read.corruption is not None
    assert (read.corruption.is_whole, set(read.corruption.problems)) == (
        True,
        {"/brokers/topics/t", "/brokers/topics/t/partitions/1/state"},
    )
    assert read.corruption.covers(0)


@pytest.mark.parametrize("name", ["no topic", "x" * 250, "t\N{SNOWMAN}"])
def test_no_broker_could_make_a_folder_of_this_name(name: str) -> None:
    corruption = read_topic(name, entries()).corruption
    assert corruption is not None
    assert "Topic name is invalid" in str(corruption)


@pytest.mark.parametrize("payload", [None, b"", b"?", b"{}", b'{"leader":1}'])
def test_a_corrupt_state_quarantines_its_partition(payload: bytes | None) -> None:
    read = read_topic("t", entries(state_1=payload))
    assert read.topic is not None
    assert set(read.topic.states) == {0}
    assert read.topic.bare_partitions == frozenset(), "1 is not one that never had a leader"
    assert read.corruption is not None
    assert (read.corruption.partitions, read.corruption.covers(0), read.corruption.covers(1)) == (
        frozenset({1}),
        False,
        True,
    )


def test_under_deletion_a_topic_with_a_corrupt_state_is_quarantined() -> None:
    assert read_topic("t", entries(), is_going=True).topic is not None
    read = read_topic("t", entries(state_1=b"?"), is_going=True)
    assert read.topic is None
    assert read.corruption is not None
    assert read.corruption.is_whole


def test_entries_that_the_layout_does_not_have_are_ignored() -> None:
    unknown = Entry(b"?", 0, 1, 0)
    paths = (
        "note",
        "partitions/x",
        "partitions/x/state",
        "partitions/01/state",
        "partitions/0/note",
        "partitions/0/state/y",
    )
    assert read_topic("t", entries() | dict.fromkeys(paths, unknown)) == read_topic("t", entries())
