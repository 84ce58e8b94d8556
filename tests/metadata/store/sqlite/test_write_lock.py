"""The holder of the write lock is found in the kernel's list of locks. Only a silent holder is killed."""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

from signalbox.metadata.store.sqlite.database import Database
from signalbox.metadata.store.sqlite.session_file import Stamp, process_start_time
from signalbox.metadata.store.sqlite.write_lock import end_stopped_holder, write_lock_holder
from tests.metadata.store.sqlite.process import other_process


def test_the_holder_is_found(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    with other_process(path) as other:
        assert write_lock_holder(path) is None
        other.ask("lock")
        assert other.read_line() == "locked"
        assert write_lock_holder(path) == other.process.pid


def test_only_a_silent_holder_of_the_right_age_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    with other_process(path) as other:
        other.ask("lock")
        assert other.read_line() == "locked"
        pid = other.process.pid
        now_ns = time.monotonic_ns()
        fresh = Stamp(now_ns, 1_000, pid, process_start_time(pid))
        silent = replace(fresh, heartbeat_ns=now_ns - 2_000_000_000)
        impostor = replace(silent, start_time=1)
        of_this_process = replace(silent, pid=os.getpid())
        assert not end_stopped_holder(path, [fresh, impostor, of_this_process], now_ns)
        assert other.process.poll() is None
        assert end_stopped_holder(path, [fresh, silent], now_ns)
        assert other.process.wait(5) == -9


def test_a_process_never_ends_its_own_process(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    database = Database(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    assert write_lock_holder(path) == os.getpid()
    me = Stamp(0, 1, os.getpid(), process_start_time(os.getpid()))
    assert not end_stopped_holder(path, [me], time.monotonic_ns())
    connection.close()
    database.close()


def test_without_a_database_the_lock_has_no_holder(tmp_path: Path) -> None:
    assert write_lock_holder(tmp_path / "none.db") is None


def test_lock_lines_of_all_kinds(tmp_path: Path) -> None:
    shm = tmp_path / "m.db-shm"
    shm.touch()
    inode = shm.stat().st_ino
    lines = [
        f"1: FLOCK  ADVISORY  WRITE 11 fe:00:{inode} 0 EOF",
        f"2: POSIX  ADVISORY  READ 12 fe:00:{inode} 120 120",
        f"2: -> POSIX  ADVISORY  WRITE 13 fe:00:{inode} 120 120",
        f"3: POSIX  ADVISORY  WRITE 14 fe:00:{inode + 1} 120 120",
        f"4: POSIX  ADVISORY  WRITE 15 fe:00:{inode} 121 123",
    ]
    assert write_lock_holder(tmp_path / "m.db", "\n".join(lines)) is None
    lines.append(f"5: POSIX  ADVISORY  WRITE 16 fe:00:{inode} 120 EOF")
    assert write_lock_holder(tmp_path / "m.db", "\n".join(lines)) == 16
