"""`signalbox up`: a cluster until Ctrl-C, and a word for each broker that ends by itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from signalbox.cli.main import app
from tests.cli.ctrl_c import hear_ctrl_c

UP = [sys.executable, "-c", "from signalbox.cli.main import run; run()", "up", "--port", "0"]


def start(folder: Path, brokers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*UP, "--brokers", str(brokers), "--data", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        preexec_fn=hear_ctrl_c,
    )


def until(process: subprocess.Popen[str], text: str) -> list[str]:
    """What was said up to the line with `text`."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError("".join(lines))


def test_up_and_down(tmp_path: Path) -> None:
    process = start(tmp_path, 1)
    told = until(process, "bootstrap.servers=")
    assert re.search(r"bootstrap.servers=127.0.0.1:\d+", told[-1])
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "stopped" in rest


def test_whichever_broker_ends_is_named_at_once(tmp_path: Path) -> None:
    process = start(tmp_path, 2)
    told = until(process, "bootstrap.servers=")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in told if "│" in line]
    pids = {row[0]: int(row[-1]) for row in rows}
    os.kill(pids["2"], signal.SIGKILL)
    assert "code -9" in until(process, "broker 2 ended")[-1]
    os.kill(pids["1"], signal.SIGKILL)
    until(process, "broker 1 ended")
    process.communicate(timeout=30)
    assert process.returncode == 1


def test_wrong_overrides_and_clusters_that_cannot_start(tmp_path: Path) -> None:
    run = CliRunner()
    assert run.invoke(app, ["up", "--data", str(tmp_path), "--override", "nonsense"]).exit_code == 2
    result = run.invoke(
        app, ["up", "--data", str(tmp_path), "--brokers", "1", "--port", "0", "--override", "num.partitions=many"]
    )
    assert result.exit_code == 1
    assert "'many' is not a whole number" in result.output
