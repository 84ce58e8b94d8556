"""The session is a reader's terminal: commands share variables and the folder, and /tmp is a folder of its own."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.tour.session import Session

from tests.waiting import until

_SERVER = """#!/bin/bash
trap 'echo stopped; kill $! 2>/dev/null; exit 0' INT
sleep 600 > /dev/null 2>&1 &
echo "bootstrap.servers=$2"
wait
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path / "tour", Path(sys.executable).parent)
    yield session
    session.close()


def test_variables_functions_and_the_folder_stay(session: Session) -> None:
    session.run("export A='one two'; f() { echo \"f $A\"; }; mkdir sub; cd sub")
    result = session.run("f; basename $PWD; false")
    assert (result.printed, result.exit_code) == ("f one two\nsub\n", 1)


def test_both_outputs_are_read(session: Session) -> None:
    assert session.run("echo out; echo err >&2").printed == "out\nerr\n"


def test_tmp_and_the_home_folder_are_those_of_the_session(session: Session, tmp_path: Path) -> None:
    session.write("where.sh", "echo /tmp/of-a-page > /tmp/of-a-page\ncat /tmp/of-a-page\n")
    assert session.run("bash where.sh; echo ~").printed == "/tmp/of-a-page\n~\n"
    assert (tmp_path / "tour" / "tmp" / "of-a-page").exists()


def test_files_of_the_repository_are_copied(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.properties").write_text("log.dirs=/tmp/data\n")
    session = Session(tmp_path / "tour", Path(sys.executable).parent, [tmp_path / "examples"])
    assert session.run("cat examples/a.properties").printed == "log.dirs=/tmp/data\n"
    copy = tmp_path / "tour" / "here" / "examples" / "a.properties"
    assert copy.read_text() == f"log.dirs={tmp_path}/tour/tmp/data\n"


def test_a_command_of_the_foreground_runs_until_ctrl_c(session: Session, tmp_path: Path) -> None:
    programs = tmp_path / "tour" / "here" / "signalbox"
    programs.write_text(_SERVER)
    programs.chmod(0o755)
    session.run("export PATH=$PWD:$PATH")
    result = session.run("signalbox up x:1")
    assert (result.printed, result.exit_code) == ("bootstrap.servers=x:1\n", 0)
    [(command, ended)] = session.interrupt()
    assert (command, ended.printed, ended.exit_code) == ("signalbox up x:1", "bootstrap.servers=x:1\nstopped\n", 0)
    assert session.interrupt() == []


def test_ctrl_c_is_not_ignored_in_a_job_of_the_background(session: Session) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert session.run("trap -p INT").printed == ""
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_of_the_foreground_that_ends_gives_its_exit_code(session: Session) -> None:
    session.run("signalbox() { echo no; return 2; }; export -f signalbox")
    result = session.run("bash -c 'signalbox start x'")
    assert (result.printed, result.exit_code) == ("no\n", 2)
    assert session.interrupt() == []


def test_what_a_page_leaves_running_is_killed(session: Session) -> None:
    left = int(session.run("sleep 1000 > /dev/null 2>&1 & echo $!").printed)
    session.close()
    status = Path(f"/proc/{left}/status")
    until(lambda: not status.exists() or "State:\tZ" in status.read_text(), "the process has ended")
