"""While topics are held still, no changer requests a change of topics, and no deletion is in progress."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from tools.chaos.changes.kind import Kind
from tools.chaos.changes.load import SteadyChanger
from tools.chaos.changes.quota import Quotas
from tools.chaos.changes.topic import Topics
from tools.chaos.faults.injector import ClusterUnhealthy
from tools.chaos.state_reader import StateReader
from tools.chaos.still_topics import StillTopics

from signalbox.metadata import layout
from signalbox.metadata.store.port import Entry


class Deletions:
    """A store with pending topic deletions, one fewer at each read."""

    def __init__(self, names: Sequence[str]) -> None:
        self._left = list(names)

    def read(self, path: str) -> Entry | None:
        return None

    def children(self, path: str) -> list[str]:
        assert path == layout.DELETE_TOPICS
        left = list(self._left)
        del self._left[:1]
        return left

    def read_tree(self, path: str) -> dict[str, Entry]:
        return {}


def changers() -> list[SteadyChanger]:
    kinds: list[Kind] = [Topics(), Quotas(), Topics()]
    return [SteadyChanger(number, kind, lambda: (), 1) for number, kind in enumerate(kinds)]


def test_only_changers_of_topics_are_held() -> None:
    three = changers()
    still = StillTopics(three, StateReader(Deletions(["a", "b"])))
    assert still.others == [three[1]]
    seen: list[list[bool]] = []

    def act(broker_id: int, hold_s: float) -> bool:
        seen.append([changer.held.locked() for changer in three])
        return broker_id == 3

    assert still.during(act)(3, 0.1) is True
    assert seen == [[True, False, True]]
    assert not any(changer.held.locked() for changer in three)


def test_a_deletion_that_does_not_complete_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.chaos.still_topics._TIMEOUT_S", 0.1)
    three = changers()
    with (
        pytest.raises(ClusterUnhealthy, match="still being deleted: x"),
        StillTopics(three, StateReader(Deletions(["x"] * 100))).held(),
    ):
        pass
    assert not any(changer.held.locked() for changer in three)


def test_a_change_waits_until_it_is_released() -> None:
    asked = threading.Event()

    def addresses() -> tuple[str, ...]:
        asked.set()
        return ()

    changer = SteadyChanger(0, Quotas(), addresses, 1)
    with changer.held:
        changer.start()
        assert not asked.wait(0.5)
    assert asked.wait(10)
    changer.stop()
