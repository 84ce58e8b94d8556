"""The history of a SQLite store: each write and its session, recorded by a trigger in the transaction of the write.

`python -m tools.chaos.writers.observed_broker server.properties` is the unchanged broker with this trigger. The
triggers of `metadata/store/sqlite/steps.sql` are temporary and belong to one connection, and so does this one: a broker
records its own writes, in a table that the run adds to the file. A rejected commit rolls back its rows with everything
else.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from signalbox.metadata.store.sqlite.database import Database
from signalbox.wiring.serve import main
from tools.chaos.writers.one_writer import Written

_TABLE = """
CREATE TABLE written (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    commit_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL,
    path TEXT NOT NULL
)
"""
_OBSERVE = """
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


_open = Database.__init__


def open_observed(self: Database, path: Path) -> None:
    """Opens a connection that records its writes, instead of `Database.__init__`."""
    _open(self, path)
    self._connection.execute(_OBSERVE)


if __name__ == "__main__":
    Database.__init__ = open_observed  # type: ignore[method-assign]  # every connection is opened by this method
    sys.exit(main(sys.argv[1:]))
