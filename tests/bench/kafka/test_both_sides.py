"""Both sides are started with the same settings, and stopped with what they wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from bench.kafka.both_sides import both_sides
from bench.kafka.sides import Side

events: list[str] = []


class Nodes(Side):
    """A side without processes, which cannot be started if its settings say so."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        super().__init__()
        self.name = folder.name
        self.settings = settings
        folder.mkdir(parents=True)

    def prepare(self) -> None:
        events.append(f"prepare {self.name}")
        if self.settings.get("fails") == self.name:
            raise RuntimeError("there is no java")

    def launch(self) -> None:
        events.append(f"launch {self.name}")

    @property
    def pids(self) -> dict[int, int]:
        return {}

    def kill(self, node_id: int) -> None:
        raise NotImplementedError

    def restart(self, node_id: int) -> None:
        raise NotImplementedError

    def active_controller(self) -> int:
        raise NotImplementedError

    def stop(self) -> None:
        events.append(f"stop {self.name}")


@pytest.fixture(autouse=True)
def no_events() -> None:
    events.clear()


def test_both_are_up_until_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    with both_sides(folder, {"a": "b"}, Nodes, Nodes) as sides:
        assert events == ["prepare ours", "launch ours", "prepare kafka", "launch kafka"]
        assert sides.reference is not None
        events.clear()
    assert events == ["stop kafka", "stop ours"]
    assert not folder.exists()


def test_ours_alone_if_there_is_no_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with both_sides(tmp_path / "work", {"fails": "kafka"}, Nodes, Nodes) as sides:
        assert sides.reference is None
    assert "the reference was not measured: there is no java" in capsys.readouterr().out
    assert events[-2:] == ["stop kafka", "stop ours"]
