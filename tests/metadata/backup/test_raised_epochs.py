"""Leader epochs are raised above all epochs in the logs."""

from __future__ import annotations

import json

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata.backup.raised_epochs import raised_epochs
from signalbox.metadata.entries.json_text import MAX_NUMBER
from signalbox.metadata.store.port import Entry, Write

PATH = "/brokers/topics/t/partitions/0/state"
STATE = b'{"version":1,"leader":2,"leader_epoch":41,"controller_epoch":3,"isr":[2,1],"leader_recovery_state":1}'


def raised(step: int, seen: int | None) -> int | None:
    """The leader epoch that is written; None when nothing is written."""
    topics = {PATH: Entry(STATE, 5, 1, 0), "/brokers/topics/t": Entry(b"{}", 0, 1, 0)}
    epochs = {} if seen is None else {TopicPartition("t", 0): seen}
    writes = list(raised_epochs(topics, epochs, step))
    if not writes:
        return None
    (write,) = writes
    assert isinstance(write, Write)
    assert (write.path, write.expected_version) == (PATH, 5)
    changed = json.loads(write.data or b"")
    assert {**changed, "leader_epoch": 41} == json.loads(STATE)
    return int(changed["leader_epoch"])


@pytest.mark.parametrize(
    ("step", "seen", "epoch"),
    [
        (0, None, None),
        (0, 40, None),
        (0, 41, 42),
        (0, 99, 100),
        (1000, None, 1041),
        (1000, 99, 1041),
        (1000, 2000, 2001),
        (0, MAX_NUMBER, MAX_NUMBER),
    ],
)
def test_above_what_was_stored_and_seen(step: int, seen: int | None, epoch: int | None) -> None:
    assert raised(step, seen) == epoch


def test_a_corrupt_state_stays_as_it_is() -> None:
    assert list(raised_epochs({PATH: Entry(b"?", 0, 1, 0)}, {}, 10)) == []
