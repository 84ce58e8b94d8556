"""A node's process: its streams, session, environment, signals and exit code; the same from the fork server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from signalbox.testing.node_process import NodeProcess, StartNode, run_to_the_end, start_interpreter
from tests.testing.fork_server import ForkServer

_FORKED = ForkServer().start


@pytest.fixture(params=[start_interpreter, _FORKED], ids=["interpreter", "fork server"])
def start(request: pytest.FixtureRequest) -> StartNode:
    start: StartNode = request.param
    return start


def started(start: StartNode, folder: Path, *arguments: str) -> NodeProcess:
    with (folder / "log").open("ab") as log:
        return start(["tests.testing.node_program", *arguments], log)


def facts(process: NodeProcess) -> dict[str, Any]:
    """The line that it prints."""
    assert process.stdout is not None
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


def test_it_has_its_own_session_and_streams_and_our_environment(
    start: StartNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIABLE", "réplica")
    process = started(start, tmp_path, "3", "an argument")
    found = facts(process)
    assert process.wait(60) == process.poll() == 3
    assert found["arguments"] == ["3", "an argument"]
    assert (found["session"], found["directory"], found["variable"]) == (process.pid, os.getcwd(), "réplica")
    assert (found["input"], found["threads"], found["descriptors"]) == ("", 1, [0, 1, 2])
    assert process.stdout is not None
    assert process.stdout.read() == b""
    assert (tmp_path / "log").read_text() == "to the log\n"


def test_two_of_them_have_different_random_numbers(start: StartNode, tmp_path: Path) -> None:
    processes = [started(start, tmp_path, "0") for _ in range(2)]
    first, second = (facts(process)["random"] for process in processes)
    assert first != second
    assert [process.wait(60) for process in processes] == [0, 0]


def test_signals_stop_it_and_end_it(start: StartNode, tmp_path: Path) -> None:
    process = started(start, tmp_path, "waits")
    facts(process)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.send_signal(signal.SIGSTOP)
    process.wait_stopped()
    assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    process.kill()
    assert process.wait(60) == process.poll() == -signal.SIGKILL
    process.send_signal(signal.SIGTERM)  # ended: nothing happens


def test_sigterm_ends_it(start: StartNode, tmp_path: Path) -> None:
    process = started(start, tmp_path, "waits")
    facts(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM


def test_a_module_that_is_missing_is_in_the_log(start: StartNode, tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        process = start(["tests.testing.no_such_program"], log)
    assert process.wait(60) == 1
    assert "No module named tests.testing.no_such_program" in (tmp_path / "log").read_text()


def test_work_is_done_to_its_end_although_a_signal_arrives(tmp_path: Path) -> None:
    """A process is held by then, whatever the handler of SIGTERM raises."""
    held: list[NodeProcess] = []

    def start_while_a_signal_arrives() -> None:
        process = started(start_interpreter, tmp_path, "waits")
        os.kill(os.getpid(), signal.SIGTERM)
        held.append(process)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with pytest.raises(SystemExit):
            run_to_the_end(start_while_a_signal_arrives)
    finally:
        signal.signal(signal.SIGTERM, before)
    held[0].kill()
    assert held[0].wait(60) == -signal.SIGKILL


def test_an_error_of_the_work_is_raised() -> None:
    def fail() -> None:
        raise OSError("no such program")

    with pytest.raises(OSError, match="no such program"):
        run_to_the_end(fail)
