"""The history of a SQLite store: each write and its session, recorded by a trigger in the transaction of the write.

The triggers of `metadata/store/sqlite/steps.sql` are temporary and belong to one connection, and so does this one: a
broker records its own writes (`observed_broker.py`), in a table that the run adds to the file. A rejected commit rolls
back its rows with everything else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from signalbox.metadata.store.sqlite.database import Database
from tools.chaos.writers.one_writer import Written

_TABLE = """
CREATE TABLE written (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    commit_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    path TEXT NOT NULL
)
"""
OBSERVE = """
CREATE TEMP TRIGGER observe INSTEAD OF INSERT ON step WHEN NEW.kind IN ('create', 'write', 'delete') BEGIN
    INSERT INTO written (commit_id, session_id, path) SELECT commit_id, NEW.session_id, NEW.path FROM ledger;
END
"""


def make_observed(path: Path) -> None:
    """Creates a new store's file, with the table for its history."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(_TABLE)
        connection.commit()


def history_of_file(path: Path) -> Iterator[Written]:
    """The history from the beginning."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        for row in connection.execute("SELECT commit_id, session_id, path FROM written ORDER BY number"):
            yield Written(*row)
