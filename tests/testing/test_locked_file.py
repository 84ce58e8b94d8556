"""Locked files: only a process that has the file open with the lock counts as its holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from signalbox.testing.locked_file import (
    LockHolder,
    holder_of,
    is_locked,
    lock_file,
    lock_holders,
    node_locks,
    open_private,
)


@contextmanager
def process(output: IO[str] | int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """One that waits until its input ends, with the file as its standard output."""
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=output, text=True) as running:
        try:
            yield running
        finally:
            running.communicate()


def pids(holders: list[LockHolder]) -> list[int]:
    for holder in holders:
        holder.close()
    return [holder.pid for holder in holders]


def test_a_new_file_is_private_and_a_link_is_not_followed(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    os.close(open_private(file, os.O_WRONLY | os.O_CREAT))
    assert file.stat().st_mode & 0o777 == 0o600
    link.symlink_to(file)
    with pytest.raises(OSError, match="symbolic links"):
        open_private(link, os.O_RDONLY)


def test_a_lock_is_held_by_the_process_that_inherited_it(tmp_path: Path) -> None:
    file = tmp_path / "broker.log"
    assert not is_locked(file)
    log = file.open("w")
    lock_file(log)
    with process(log) as child, process() as other:
        assert pids(lock_holders(file)) == sorted([os.getpid(), child.pid])
        log.close()
        assert is_locked(file)
        with file.open() as again:
            assert pids(lock_holders(file, file)) == [child.pid], "we have it open, without the lock"
            with pytest.raises(BlockingIOError):
                lock_file(again)
        assert holder_of(other.pid, file) is None
        holder = holder_of(child.pid, file)
        assert holder is not None
        assert not holder.ended_within(0)
        child.send_signal(signal.SIGSTOP)
        holder.terminate()
        assert holder.ended_within(60)
        assert holder_of(child.pid, file) is None, "it has ended, and we have not waited for it yet"
        assert child.wait(60) == -signal.SIGTERM
        holder.terminate()
        holder.close()
    assert not is_locked(file)
    assert lock_holders(file) == []


@pytest.mark.parametrize("number", [-1, 0, 4_194_305, 99_999_999_999, 10**200])
def test_a_number_that_is_no_process_holds_nothing(number: int, tmp_path: Path) -> None:
    assert holder_of(number, tmp_path) is None


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    assert holder_of(os.getpid(), tmp_path / "none") is None
    assert lock_holders(tmp_path / "none") == []
    assert os.listdir("/proc/self/fd") == before


def test_the_locks_of_a_node(tmp_path: Path) -> None:
    assert node_locks(tmp_path) == (tmp_path / "broker.log", tmp_path / "data" / ".lock")
