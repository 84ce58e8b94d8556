"""A child process that stays when the command has ended."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from signalbox.cli.local_cluster.detached import detach
from tests.waiting import until

READY = """
import sys
from pathlib import Path
from signalbox.cli.local_cluster.detached import detach
background = detach(Path(sys.argv[1]))
print("starting")
background.ready()
print("running", flush=True)
"""
INCOMPLETE = READY.replace("ready()", "ready(1)")
FAILING = """
import sys
from pathlib import Path
from signalbox.cli.local_cluster.detached import detach
detach(Path(sys.argv[1]))
print("broken")
sys.exit(3)
"""
WIDTH = """
import sys
from pathlib import Path
from signalbox.cli.local_cluster.detached import detach
background = detach(Path(sys.argv[1]))
print("width", background.width)
background.ready()
"""


def run(code: str, log: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=False, timeout=60
    )


def test_the_command_ends_when_the_child_is_ready(tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    done = run(READY, log)
    assert (done.returncode, done.stdout) == (0, "starting\n")
    assert until(lambda: log.exists() and log.read_text() == "running\n")


def test_a_log_that_cannot_be_opened_is_an_error_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "up.log").mkdir()
    with pytest.raises(IsADirectoryError):
        detach(tmp_path / "up.log")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        detach(tmp_path / "link")
    assert not (tmp_path / "target").exists()


def test_the_log_of_another_run_is_kept_until_the_child_is_ready(tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    log.write_text("before")
    assert run(FAILING, log).returncode == 3
    assert log.read_text() == "before"
    assert run(READY, log).returncode == 0
    assert until(lambda: log.read_text() == "running\n")


def test_a_child_may_be_ready_with_an_error(tmp_path: Path) -> None:
    done = run(INCOMPLETE, tmp_path / "up.log")
    assert (done.returncode, done.stdout) == (1, "starting\n")


def test_a_child_that_fails_gives_its_code(tmp_path: Path) -> None:
    done = run(FAILING, tmp_path / "up.log")
    assert (done.returncode, done.stdout) == (3, "broken\n")


def test_the_child_knows_how_wide_the_terminal_of_the_command_is(tmp_path: Path) -> None:
    ours, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-c", WIDTH, str(tmp_path / "up.log")]
    try:
        subprocess.run(command, stdout=terminal, check=True, timeout=60, env=environment)
        assert os.read(ours, 1000) == b"width 72\r\n"
    finally:
        os.close(terminal)
        os.close(ours)
    assert run(WIDTH, tmp_path / "up.log").stdout == "width None\n"
