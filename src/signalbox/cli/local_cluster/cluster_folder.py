"""The folder of a cluster of `signalbox up`: where it is, which process runs it, and the logs of this run only.

`up.pid` holds the id of the process and is locked while the process lives: a lock cannot be left behind.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

PID_FILE = "up.pid"


class AlreadyRuns(RuntimeError):
    """Another process runs the cluster of the folder."""


def default_folder() -> Path:
    """`signalbox/up` in the user's directory of application data (XDG_DATA_HOME)."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "signalbox" / "up"


def claim(folder: Path) -> IO[str]:
    """Lock the folder for this process until the returned file is closed. AlreadyRuns; OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / PID_FILE).open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise AlreadyRuns(f"the cluster of {folder} already runs: `signalbox down --data {folder}` stops it") from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def running_process(folder: Path) -> int | None:
    """The id of the process that runs the cluster of the folder."""
    try:
        with (folder / PID_FILE).open("r+", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read())
    except (OSError, ValueError):
        return None
    return None


def rotate_logs(logs: Iterable[Path]) -> None:
    """Rename the logs of the last run, so that a log has one run only; the one before it is deleted."""
    for log in logs:
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
