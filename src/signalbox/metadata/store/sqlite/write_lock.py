"""Finds the process that holds the file's write lock, and kills it when it is suspended.

A process that is suspended (SIGSTOP, a frozen container) inside a transaction keeps SQLite's write lock and so blocks
every writer of the cluster. When its session has expired it could not commit any more, so it is killed, identified by
pid and start time, and the kill is logged. In WAL mode the write lock is a POSIX lock on one byte of the `-shm` file;
it is looked up in /proc/locks, because opening and closing that file here would release SQLite's own locks (POSIX
locks belong to the process).
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from signalbox.metadata.store.sqlite.session_file import Stamp, process_start_time

log = logging.getLogger(__name__)

_WRITE_LOCK_BYTE = 120  # WALINDEX_LOCK_OFFSET + WAL_WRITE_LOCK of SQLite's file format


def write_lock_holder(database: Path, locks: str | None = None) -> int | None:
    """The pid that holds the write lock, None if no process is found. `locks` is the text of /proc/locks."""
    try:
        inode = os.stat(f"{database}-shm").st_ino
        text = Path("/proc/locks").read_text() if locks is None else locks
    except OSError:
        return None
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[1] != "POSIX" or fields[3] != "WRITE":
            continue
        pid, place, first, last = fields[4:8]
        if place.rpartition(":")[2] != str(inode):
            continue
        if int(first) <= _WRITE_LOCK_BYTE and (last == "EOF" or int(last) >= _WRITE_LOCK_BYTE):
            return int(pid)
    return None


def end_stopped_holder(database: Path, stamps: Iterable[Stamp], now_ns: int) -> bool:
    """Kill the write lock's holder if its session has expired; returns whether it was killed."""
    holder = write_lock_holder(database)
    if holder is None or holder == os.getpid():
        return False
    for stamp in stamps:
        if stamp.pid != holder or not stamp.is_silent(now_ns):
            continue
        if not _kill(holder, stamp.start_time):
            continue
        log.warning(
            "Process %d killed (start tick=%d): it was stopped inside a transaction on %s, its session was over "
            "for %d ms and it blocked every writer",
            holder,
            stamp.start_time,
            database,
            (now_ns - stamp.heartbeat_ns) // 1_000_000 - stamp.timeout_ms,
        )
        return True
    return False


def _kill(pid: int, start_time: int) -> bool:
    """Send SIGKILL to exactly this process: by a process descriptor, so that the pid cannot be reused in between."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if process_start_time(pid) != start_time:
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(process)
    return True
