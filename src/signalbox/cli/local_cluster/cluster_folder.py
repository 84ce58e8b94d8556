"""The folder of a cluster of `signalbox up`: where it is, which process runs it, and the logs of this run only.

`up.pid` holds the id of the process and is locked while the process lives: a lock cannot be left behind. The id counts
only if that very process holds the lock (`testing/locked_file.py`): the id of a process that was killed stays in the
file and may be another process's by now, and a lock says nothing about who took it. `up --detach` forks before it
claims the folder, so the process that runs the cluster takes the lock itself.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unicodedata import category

from signalbox.testing.locked_file import LockHolder, holder_of, lock_file, lock_holders, node_locks, open_private

PID_FILE = "up.pid"
_NODE = re.compile(r"(broker|controller)-([0-9]+)")
_NOT_IN_NAMES = ("Cc", "Cs")  # control characters; bytes that are not UTF-8


class AlreadyRuns(RuntimeError):
    """Another process runs the cluster of the folder."""


class ForeignFolder(RuntimeError):
    """The folder belongs to another user, who could replace every file in it."""


def default_folder() -> Path:
    """`signalbox/up` in the user's directory of application data (XDG_DATA_HOME)."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "signalbox" / "up"


def chosen_folder(data: Path | None) -> Path:
    """The folder of `--data`, else the default one. ValueError if server.properties cannot have its name."""
    folder = (data or default_folder()).absolute()
    if any(char == "," or category(char) in _NOT_IN_NAMES for char in str(folder)):
        raise ValueError(
            f"--data takes a folder whose path is UTF-8 without commas and control characters, not {str(folder)!r}"
        )
    return folder


def make_folder(folder: Path) -> None:
    """Make the folder unless it exists. ForeignFolder; OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for found in (folder.lstat(), folder.stat()):  # of a symbolic link, both
        if found.st_uid != os.geteuid():
            raise ForeignFolder(
                f"{folder} belongs to another user (id {found.st_uid}), who could replace the cluster's files: "
                "name a folder of your own with --data"
            )


@contextmanager
def claim(folder: Path) -> Iterator[None]:
    """Lock the folder, which exists, for this process; at the end `up.pid` is empty. AlreadyRuns; OSError."""
    with open(folder / PID_FILE, "a+", encoding="ascii", opener=open_private) as file:
        try:
            lock_file(file)
        except BlockingIOError:
            raise AlreadyRuns(_holder_of_claim(folder)) from None
        os.fchmod(file.fileno(), 0o600)  # others could lock the file of an older version
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _holder_of_claim(folder: Path) -> str:
    process = running_process(folder)
    if process is not None:
        process.close()
        return f"the cluster of {folder} already runs: `signalbox down --data {shlex.quote(str(folder))}` stops it"
    pids = []
    for holder in lock_holders(folder / PID_FILE):
        pids.append(str(holder.pid))
        holder.close()
    return (
        f"{folder / PID_FILE} is locked by a process that does not run the cluster ({', '.join(pids) or 'unknown'}): "
        "end it, or name another folder with --data"
    )


def running_process(folder: Path) -> LockHolder | None:
    """The process that runs the cluster of the folder, to be closed. OSError if it cannot be seen."""
    file = folder / PID_FILE
    try:
        with open(file, encoding="ascii", errors="replace", opener=open_private) as stream:
            text = stream.read(100).strip()
    except FileNotFoundError:
        return None
    return holder_of(int(text), file) if re.fullmatch("[0-9]+", text) else None


def left_nodes(folder: Path) -> dict[str, list[LockHolder]]:
    """The processes of nodes that go on although the process of `up` was killed, by role, to be closed. Only those of a
    folder of this user: in another's folder a lock file may be a link to that of some other program."""
    found: dict[str, list[LockHolder]] = {"broker": [], "controller": []}
    if folder.is_dir() and folder.stat().st_uid == os.geteuid():
        names = {path: _NODE.fullmatch(path.name) for path in folder.iterdir()}
        for role, holders in found.items():
            nodes = [path for path, name in names.items() if name and name[1] == role]
            holders += lock_holders(*(file for node in nodes for file in node_locks(node)))
    return found


def rotate_logs(logs: Iterable[Path]) -> None:
    """Rename the logs of the last run, so that a log has one run only; the one before it is deleted."""
    for log in logs:
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
