"""How a participant proves that it lives: a file it holds a lock on and stamps with its heartbeat.

* Death: the kernel frees the lock with the process, so a lock that can be taken belongs to nobody. `flock` is bound
  to one open file, not to the process, so participants of the same process are told apart.
* Silence: the stamp is monotonic time, which all processes of a host share; a stamp older than the session timeout
  means that the owner is stopped or hangs.

The heartbeat is here and not in the database on purpose: a process stopped inside a transaction blocks every
writer, and heartbeats that had to write would then be silent too, all of them.
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
    """What a session file says: last heartbeat (monotonic ns), the owner's timeout, process id and start time."""

    heartbeat_ns: int
    timeout_ms: int
    pid: int
    start_time: int

    def is_silent(self, now_ns: int) -> bool:
        """Whether the last heartbeat is further back than the timeout."""
        return now_ns - self.heartbeat_ns > self.timeout_ms * 1_000_000


class SessionFile:
    """The owner's side: created locked, stamped by `beat` (in place: a full disk has room for it), removed by `close`.
    Both may raise OSError."""

    def __init__(self, folder: Path, timeout_ms: int) -> None:
        self.name = f"{PREFIX}{uuid.uuid4().hex}"
        self._path = folder / self.name
        self._timeout_ms = timeout_ms
        self._pid, self._start_time = os.getpid(), process_start_time(os.getpid())
        # Locked before it gets its name, so that nobody ever finds it unlocked while its owner lives.
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
        """Stamp the file with the present time."""
        stamp = _STAMP.pack(time.monotonic_ns(), self._timeout_ms, self._pid, self._start_time)
        os.pwrite(self._fd, stamp, 0)

    def close(self) -> None:
        """Remove the file and free the lock."""
        self._path.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Free the lock and leave the file, as a killed process does."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class PeerFile:
    """Another participant's session file, held open to be looked at often. A missing file counts as unowned."""

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
        """Whether the owner is gone. If so the lock is kept until `close`: one of several peers clears up."""
        if self._fd < 0:
            return True
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def remove(self) -> None:
        """The session is over: take the file away."""
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Look no more. Frees the lock if `is_unowned` took it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def process_start_time(pid: int) -> int:
    """Start time of a process in clock ticks since boot (field 22 of its stat), 0 when there is no such process.

    A pid alone can be given out again; pid and start time together name one process for ever."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])
