"""Files that a process locks while it runs: how they are opened, and which processes hold the lock of one.

The locks are those of `flock`, which a process passes on with the open file: the lock of a broker's log is taken by
`up` and held by the broker. The owner that the kernel reports for such a lock (`/proc/locks`) is the process that took
it and that may have ended. So a holder is a process that has the file open with the lock: `/proc/<pid>/fdinfo` says so
of each descriptor. No process is signalled because a file has its id, or because some process locked a file.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO


def open_private(path: str | Path, flags: int) -> int:
    """An `opener` of `open`: a new file is for its owner alone. OSError if the path is a symbolic link: another user
    may have made it in order to have some other file overwritten."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def node_locks(folder: Path) -> tuple[Path, Path]:
    """The files that are locked while the node of the folder runs: its log if `ProcessCluster` started it, and a
    broker's data."""
    return folder / "broker.log", folder / "data" / ".lock"


def lock_file(file: IO[bytes] | IO[str]) -> None:
    """Lock it until it is closed here, and in every process that inherits it. BlockingIOError if it is locked."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(file: Path) -> bool:
    """True if a process holds the lock."""
    try:
        with file.open("r+b") as lock:
            lock_file(lock)
    except BlockingIOError:
        return True
    except OSError:
        return False  # the directory does not exist yet, or a broker could not open it either
    return False


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A process that holds a lock. `handle` is a pidfd, so a process that gets the same id later is never meant."""

    pid: int
    handle: int

    def terminate(self) -> None:
        """SIGTERM, unless it has ended. PermissionError if it belongs to another user."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGTERM)
            signal.pidfd_send_signal(self.handle, signal.SIGCONT)  # a stopped process gets it when it goes on

    def ended_within(self, seconds: float) -> bool:
        """Wait for its end; False after that time."""
        end = select.poll()
        end.register(self.handle, select.POLLIN)
        return bool(end.poll(seconds * 1000))

    def close(self) -> None:
        """Close the handle."""
        os.close(self.handle)


def holder_of(pid: int, file: Path) -> LockHolder | None:
    """The process if it runs and holds the lock of the file; None for a number that is no process, too.
    PermissionError if it belongs to another user, so that its files cannot be seen."""
    try:
        holder = LockHolder(pid, os.pidfd_open(pid))
    except (OSError, OverflowError):
        return None
    holds = False
    try:
        holds = _holds(pid, file)
    except PermissionError:
        if not holder.ended_within(0):  # one that has ended and was not waited for shows no files either
            raise
    finally:
        if not holds:
            holder.close()
    return holder if holds else None


def lock_holders(*files: Path) -> list[LockHolder]:
    """All processes that hold the lock of one of the files, as far as this user can see."""
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdecimal()):
        with suppress(PermissionError):
            if held := next((file for file in files if _holds(pid, file)), None):
                holder = holder_of(pid, held)
                found += [holder] if holder else []
    return found


def _holds(pid: int, file: Path) -> bool:
    try:
        wanted = file.stat()
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return False
    for descriptor in descriptors:
        with suppress(FileNotFoundError, ProcessLookupError):  # closed meanwhile
            found = os.stat(f"/proc/{pid}/fd/{descriptor}")
            if os.path.samestat(found, wanted):
                facts = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().splitlines()
                if any(fact.startswith("lock:") and " FLOCK " in fact for fact in facts):
                    return True
    return False
