"""The command: the options that it rejects, and that no broker is left when it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tools.chaos.__main__ import main

from tests.waiting import until


def brokers_of(folder: Path) -> list[str]:
    """Command lines of the processes that name `folder`, except the command itself."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if str(folder) in command and "server.properties" in command:
            found.append(command)
    return found


def test_sigterm_stops_its_brokers_too(tmp_path: Path) -> None:
    folder = tmp_path / "brokers"
    command = [sys.executable, "-m", "tools.chaos", "--seed", "1", "--duration", "60"]
    with subprocess.Popen(
        [*command, "--folder", str(folder), "--report", str(tmp_path / "chaos.json")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"seed 1, 60 s, metadata in sqlite; brokers and logs in {folder}\n"
        until(lambda: len(brokers_of(folder)) == 3, "three brokers")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    assert brokers_of(folder) == []


def test_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--seed" in capsys.readouterr().out
