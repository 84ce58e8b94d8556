"""A participant's session file: a file that its owner keeps locked, and to which it writes its heartbeats.

* Exit: the kernel frees the lock when the process ends, so a lock that can be taken has no owner any more. `flock` is
  bound to one open file, not to the process, so participants of the same process are distinguished.
* Timeout: the heartbeat is monotonic time, which all processes of a host share; one that is older than the session
  timeout means that the owner is suspended or hangs.

The heartbeat is not in the database for a reason: a process that is suspended inside a transaction blocks every writer,
and the heartbeats of all participants would then be missing.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

_STAMP = struct.Struct("<qqqq")  # heartbeat ns, session timeout ms, pid, start time of the process
PREFIX = "session-"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The content of a session file: last heartbeat (monotonic ns), the owner's timeout, process id and start time."""

    heartbeat_ns: int
    timeout_ms: int
    pid: int
    start_time: int

    def is_silent(self, now_ns: int) -> bool:
        """Whether the last heartbeat is older than the timeout."""
        return now_ns - self.heartbeat_ns > self.timeout_ms * 1_000_000


class SessionFile:
    """The owner's side: created locked, written by `beat` (in place: it needs no space on a full disk), removed by
    `close`. Creation and `beat` may raise OSError."""

    def __init__(self, folder: Path, timeout_ms: int) -> None:
        self.name = f"{PREFIX}{uuid.uuid4().hex}"
        self._path = folder / self.name
        self._timeout_ms = timeout_ms
        self._pid, self._start_time = os.getpid(), process_start_time(os.getpid())
        # Locked before it gets its name, so that no peer finds it unlocked while its owner runs.
        draft = folder / f".{self.name}"
        self._fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            self.beat()
            os.rename(draft, self._path)
        except OSError:
            draft.unlink(missing_ok=True)
            self.abandon()
            raise

    def beat(self) -> None:
        """Write the current time into the file."""
        stamp = _STAMP.pack(time.monotonic_ns(), self._timeout_ms, self._pid, self._start_time)
        os.pwrite(self._fd, stamp, 0)

    def close(self) -> None:
        """Remove the file and free the lock."""
        self._path.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Free the lock and leave the file, like a killed process."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class PeerFile:
    """Another participant's session file, kept open for frequent reads. A missing file counts as unowned."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            self._fd = -1

    def read(self) -> Stamp | None:
        """The stamp, or None when there is no file."""
        if self._fd < 0:
            return None
        packed = os.pread(self._fd, _STAMP.size, 0)
        return Stamp(*_STAMP.unpack(packed)) if len(packed) == _STAMP.size else None

    def is_unowned(self) -> bool:
        """Whether the owner has exited. If so the lock is kept until `close`: one of several peers cleans up."""
        if self._fd < 0:
            return True
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def remove(self) -> None:
        """Remove the file of an ended session."""
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the file. Frees the lock if `is_unowned` took it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def process_start_time(pid: int) -> int:
    """Start time of a process in clock ticks since boot (field 22 of its stat), 0 when there is no such process.

    A pid can be reused; pid and start time together identify one process for ever."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])
