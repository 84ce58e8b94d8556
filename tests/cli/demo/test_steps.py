"""The demo's cluster; a check that fails ends the demo with one error line and exit code 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.demo import steps
from signalbox.cli.demo.stage import CheckFailed, Stage
from signalbox.cli.main import app


def test_the_fourth_listener_leads_through_the_switchboard(stage: Stage) -> None:
    for node_id, broker in stage.cluster.brokers.items():
        assert broker.address("ROUTED") != broker.ready["bound"]["ROUTED"]
        host, port = stage.switchboard.line(f"broker-{node_id}").address
        assert broker.address("ROUTED") == f"{host}:{port}"


def test_a_failed_check_exits_with_1_and_stops_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Stage] = []

    def perform(stage: Stage) -> Path:
        seen.append(stage)
        raise CheckFailed("one is two")

    monkeypatch.setattr(steps, "_run_steps", perform)
    (tmp_path / "old").write_text("from an earlier demo")
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert result.exit_code == 1
    assert "one is two" in result.output
    assert not (tmp_path / "old").exists()
    assert not any(broker.running for broker in seen[0].cluster.brokers.values())
