"""Starts of both sides in turn: nodes are killed between, those of the last round are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.kafka.sides import Side
from bench.kafka.starts import Starts, start_interleaved
from bench.rounds import Interleaved

events: list[str] = []


class Nodes(Side):
    """A side without processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.name = folder.name
        folder.mkdir()

    def prepare(self) -> None:
        if self.name == "without java":
            raise RuntimeError("there is no java")

    def launch(self) -> None:
        events.append(f"start {self.name}")

    @property
    def pids(self) -> dict[int, int]:
        return {1: 1}

    def kill(self, node_id: int) -> None:
        events.append(f"kill {self.name}")

    def restart(self, node_id: int) -> None:
        raise NotImplementedError

    def active_controller(self) -> int:
        raise NotImplementedError

    def stop(self) -> None:
        events.append(f"stop {self.name}")


@pytest.fixture(autouse=True)
def no_events() -> None:
    events.clear()


def test_only_the_nodes_of_the_last_round_are_kept(tmp_path: Path) -> None:
    starts = Interleaved(Starts(Nodes, tmp_path / "ours"), Starts(Nodes, tmp_path / "reference"))
    ready, sides = start_interleaved(starts, 2)
    once = ["start ours", "kill ours", "start reference", "kill reference"]
    assert events == [*once, "start ours", "start reference"]
    assert len(ready.ours) == len(ready.reference) == 2
    assert sides.reference is not None
    assert (sides.ours.name, sides.reference.name) == ("ours", "reference")


def test_a_reference_that_cannot_be_started_is_missing(tmp_path: Path) -> None:
    starts = Interleaved(Starts(Nodes, tmp_path / "ours"), Starts(Nodes, tmp_path / "without java"))
    ready, sides = start_interleaved(starts, 3)
    assert ready.row("time to ready, s", 0.2).holds is False
    assert len(ready.ours) == 3
    assert sides.reference is None


def test_stop_stops_the_nodes_and_removes_their_files(tmp_path: Path) -> None:
    starts = Starts(Nodes, tmp_path / "ours")
    starts.ready()
    starts.stop()
    starts.stop()
    assert events == ["start ours", "stop ours"]
    assert not (tmp_path / "ours").exists()
    with pytest.raises(RuntimeError, match="no nodes run"):
        starts.side  # noqa: B018 - the property raises
