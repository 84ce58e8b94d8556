"""`signalbox start` becomes the broker: same process, no command line in it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.wiring.test_serve import properties

SIGNALBOX = [sys.executable, "-c", "from signalbox.cli.main import run; run()"]


def test_the_same_process_serves(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*SIGNALBOX, "start", str(properties(tmp_path)), "--override", "node.id=7"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["node_id"] == 7
    modules = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    assert b"signalbox.wiring.serve" in modules
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_faults_are_told_with_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SIGNALBOX, "start", str(tmp_path / "nope.properties")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
