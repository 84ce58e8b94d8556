"""A copy of a file in use, restored: later writes are lost, also for a process that has the file open. Of an ensemble:
`tests/system/zookeeper/test_zookeeper_copies.py`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tools.chaos.faults.store_copies import back_up_file


def test_a_file_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as open_connection:
        open_connection.execute("PRAGMA journal_mode=WAL")
        open_connection.execute("CREATE TABLE entry (path TEXT)")
        open_connection.execute("INSERT INTO entry VALUES ('before')")
        put_back = back_up_file(file)
        open_connection.execute("INSERT INTO entry VALUES ('since')")
        put_back()
        assert open_connection.execute("SELECT path FROM entry").fetchall() == [("before",)]
