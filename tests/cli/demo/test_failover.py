"""The controller is killed under load: another one takes over, no record is lost; the killed broker restarts with its
logs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from signalbox.cli.demo import failover
from signalbox.cli.demo.stage import CheckFailed, Stage
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.switchboard_thread import SwitchboardThread


@pytest.mark.spec("M3")
def test_a_killed_controller(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "_SECONDS", 1.5)
    monkeypatch.setattr(failover, "_KILL_AFTER_S", 0.5)
    addresses = {node_id: broker.ready["listeners"] for node_id, broker in stage.cluster.brokers.items()}
    failover.kill_the_controller(stage)
    seen = stage.facts["failover"]
    assert seen["successor"] not in (-1, seen["killed"])
    assert seen["gap_s"] < 10
    assert {node_id: broker.ready["listeners"] for node_id, broker in stage.cluster.brokers.items()} == addresses


def test_without_a_controller_nothing_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "_ELECTION_S", 0.1)
    with SwitchboardThread() as switchboard:
        stopped = Stage(Console(file=io.StringIO()), tmp_path, ProcessCluster(tmp_path, 1), switchboard)
        with pytest.raises(CheckFailed, match="one broker is the active controller: broker -1"):
            failover.kill_the_controller(stopped)
