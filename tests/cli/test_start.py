"""`signalbox start` becomes the broker: the same process, without the command line's modules."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("trouble", ["owner", "metrics port", "store", "log directory"])
def test_a_start_that_this_machine_rejects_is_one_line_with_the_key(tmp_path: Path, trouble: str) -> None:
    data = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        if trouble == "owner":
            data.mkdir()
            (data / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=1\n")
        elif trouble == "log directory":
            data.write_text("a file")
        key, entry, changes = {
            "owner": ("log.dirs", str(data), {}),
            "metrics port": ("signalbox.metrics.http.port", str(port), {"signalbox__metrics__http__port": str(port)}),
            "store": (
                "signalbox.metadata.store",
                "sqlite:/proc/m.db",
                {"signalbox__metadata__store": "sqlite:/proc/m.db"},
            ),
            "log directory": ("log.dirs", str(data), {}),
        }[trouble]
        done = subprocess.run(
            [*SIGNALBOX, "start", str(properties(tmp_path, **changes))],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if " ERROR " in line]
    assert len(errors) == 1, done.stderr
    assert f"not started: {key} ({entry}): " in errors[0]
    assert done.stderr.splitlines()[-1] == errors[0]


def test_an_override_without_a_value_is_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SIGNALBOX, "start", str(tmp_path / "nope.properties"), "--override", "node.id"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "--override takes key=value, not 'node.id'\n")


def test_faults_exit_with_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SIGNALBOX, "start", str(tmp_path / "nope.properties")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
