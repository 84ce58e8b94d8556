"""The controller is killed under load: another one takes over, no record is lost; the killed broker restarts with its
logs."""

from __future__ import annotations

import pytest

from signalbox.cli.demo import failover
from signalbox.cli.demo.stage import Stage


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
