"""Copies of a metadata store that is in use, and how one is restored: with the tools of the store's operator."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from signalbox.testing.zookeeper import ZooKeeperServer

PutBack = Callable[[], None]
_ZOOKEEPER_DATA = "version-2"


def back_up_file(file: Path) -> PutBack:
    """SQLite's own backup, both ways: a process that has the file open sees the older content."""
    copy = file.with_name("backup-of-metadata.db")
    copy.unlink(missing_ok=True)
    _copy_database(file, copy)
    return lambda: _copy_database(copy, file)


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as before, closing(sqlite3.connect(target)) as after:
        before.backup(after)


def back_up_ensemble(server: ZooKeeperServer) -> PutBack:
    """Copies the data of a standalone server while it is paused; after a restore the server is a new process."""
    data = server.data_folder / _ZOOKEEPER_DATA
    copy = server.data_folder / f"backup-of-{_ZOOKEEPER_DATA}"
    shutil.rmtree(copy, ignore_errors=True)
    server.pause()
    shutil.copytree(data, copy)
    server.resume()

    def put_back() -> None:
        server.kill()
        shutil.rmtree(data)
        copy.rename(data)
        server.start()
        server.wait()

    return put_back
