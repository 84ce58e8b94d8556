"""The SQLite file: created completely or not at all, checked when opened, accessed in single statements.

Runs on the worker thread only. A file that is corrupt, of another program or of another version is rejected with the
reason and never replaced: a cluster that silently starts with empty metadata has lost everything.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from signalbox.common.durable_file import sync_folder
from signalbox.metadata.store.port import (
    ROOT,
    Entry,
    OperationResult,
    StoreCorrupted,
    StoreFull,
    StoreUnavailable,
    parent_of,
)

APPLICATION_ID = 0x5349474C  # "SIGL": distinguishes metadata stores from other SQLite files
SCHEMA_VERSION = 1
BUSY_WAIT_S = 0.25  # how long SQLite waits for another writer before the adapter looks for the lock's holder

_HERE = Path(__file__).parent
_RUN_STEPS = """
INSERT INTO step (number, kind, path, parent, data, expected_version, of_session, numbered, session_id, now_ms)
SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]'), json_extract(value, '$[7]'), json_extract(value, '$[8]')
FROM json_each(?)
"""
# For an entry that does not exist its parent's child version is used: an entry that was created and deleted between two
# comparisons has changed it, and a participant that read the entry in between must see that it was deleted.
_FINGERPRINTS = """
SELECT json_extract(watched.value, '$[0]'), entry.creation_id, entry.version,
       coalesce(entry.child_version, parent.child_version)
FROM json_each(?) AS watched
LEFT JOIN entry ON entry.path = json_extract(watched.value, '$[0]')
LEFT JOIN entry AS parent ON parent.path = json_extract(watched.value, '$[1]')
"""
# As bytes: an entry in which another program stored something else than text must not fail reads of other entries.
_ENTRY = "SELECT path, CAST(data AS BLOB), version, creation_id, created_ms, session_id FROM entry "

Fingerprint = tuple[int | None, int | None, int | None]


class StepRejected(Exception):
    """A condition of a commit was not met; `reason` is the word that the trigger raised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WriterBusy(Exception):
    """Another process holds the write lock for longer than `BUSY_WAIT_S`."""


class Database:
    """One open connection. Every method is one statement (or one read transaction)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _reject_suspicious(path)
        try:
            if not path.exists():
                _make(path)
            self._connection = _connect(path)
            _reject_foreign(path, self._connection)
            self._connection.executescript(
                "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;"
            )
            self._connection.executescript((_HERE / "steps.sql").read_text())
        except sqlite3.DatabaseError as error:
            raise _translated(path, error) from error

    def run_steps(self, steps: Sequence[Sequence[object]]) -> list[OperationResult]:
        """Run the steps of one commit. StepRejected, WriterBusy, StoreFull, StoreUnavailable."""
        stated = json.dumps(steps, ensure_ascii=False)
        try:
            self._run_stated(stated)
        except StoreFull:
            self._checkpoint()
            self._run_stated(stated)
        rows = self._query("SELECT path, version, creation_id FROM temp.result ORDER BY number", ())
        return [OperationResult(*row) for row in rows]

    def _run_stated(self, stated: str) -> None:
        try:
            self._connection.execute(_RUN_STEPS, (stated,))
        except sqlite3.IntegrityError as error:
            raise StepRejected(str(error)) from error
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise WriterBusy(str(error)) from error
            if self._is_rolled_back_on_full_disk(error):
                raise StoreFull(
                    f"nothing was changed: the disk that holds the metadata store {self.path} is full ({error}). "
                    "Make room there, then ask again"
                ) from error
            self._checkpoint()
            raise _translated(self.path, error) from error
        except sqlite3.DatabaseError as error:
            raise _translated(self.path, error) from error

    def _is_rolled_back_on_full_disk(self, error: sqlite3.OperationalError) -> bool:
        """Whether the commit is certainly not stored. SQLITE_FULL means that a page was not written completely, so the
        commit frame is not in the log, and no recovery can find it. After other write errors (SQLITE_IOERR: a sync, the
        index beside the log) that is not certain: the frame may be in the log already."""
        return error.sqlite_errorcode == sqlite3.SQLITE_FULL and not self._connection.in_transaction

    def _checkpoint(self) -> None:
        """Checkpoint the write-ahead log into the file, so that the next commit can reuse the log: on a full disk there
        is no other space, and SQLite's automatic checkpoint waits for a log of 4 MB."""
        with contextlib.suppress(sqlite3.DatabaseError):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def read(self, path: str) -> Entry | None:
        """One entry; None if it does not exist."""
        return self._entries("WHERE path = ?", (path,)).get(path)

    def children(self, path: str) -> list[str]:
        """Names of the entries directly below `path`, sorted."""
        rows = self._query("SELECT path FROM entry WHERE parent = ? ORDER BY path", (path,))
        return [str(row[0]).rpartition("/")[2] for row in rows]

    def read_tree(self, path: str) -> dict[str, Entry]:
        """`path` and everything below it; "0" is the character after "/"."""
        if path == ROOT:
            return self._entries("ORDER BY path", ())
        return self._entries("WHERE path = ? OR (path > ? AND path < ?) ORDER BY path", (path, path + "/", path + "0"))

    def fingerprints(self, paths: Iterable[str]) -> dict[str, Fingerprint]:
        """Three numbers by path that change when the entry, or the set of its children, changes. The second is the
        entry's version."""
        rows = self._query(_FINGERPRINTS, (json.dumps([(path, parent_of(path)) for path in paths]),))
        return {row[0]: (row[1], row[2], row[3]) for row in rows}

    def sessions(self) -> dict[int, str]:
        """File names of all sessions."""
        return dict(self._query("SELECT session_id, file_name FROM session", ()))

    def data_version(self) -> int:
        """A number that changes when another connection has committed."""
        return int(self._query("PRAGMA data_version", ())[0][0])

    def close(self) -> None:
        """Close the connection; the last connection of all processes checkpoints the write-ahead log."""
        self._connection.close()

    def _entries(self, condition: str, values: tuple[str, ...]) -> dict[str, Entry]:
        return {
            path: Entry(data, version, creation_id, created_ms, session_id)
            for path, data, version, creation_id, created_ms, session_id in self._query(_ENTRY + condition, values)
        }

    def _query(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise _translated(self.path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    # psow is SQLite's default unless it was built otherwise: nothing is written to the log after the commit frame, so
    # that a failed write was before it.
    address = f"file:{quote(str(path.absolute()))}?mode=rw&psow=1"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_WAIT_S)


def _reject_suspicious(path: Path) -> None:
    """StoreCorrupted for a file that SQLite would silently open as a new, empty database. The file is not opened here:
    closing it would free the locks that other connections of this process hold on it."""
    log = Path(f"{path}-wal")
    has_log = _size_bytes(log) > 0  # before the file: another process may create the file and write its log meanwhile
    if not path.exists():
        if has_log:
            raise StoreCorrupted(
                f"{path} is missing but its write-ahead log {log.name} is there: the file was moved or deleted. Put "
                "it back (or restore a backup); to start an empty cluster, remove the log too"
            )
        return
    if path.is_dir():
        raise StoreCorrupted(f"{path} is a folder: the store is one file")
    if _size_bytes(path) == 0:
        raise StoreCorrupted(
            f"{path} is empty: it was torn, or belongs to something else. It is left as it is; restore a backup, or "
            "name another file to start an empty cluster"
        )


def _size_bytes(path: Path) -> int:
    """0 for a file that does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _reject_foreign(path: Path, connection: sqlite3.Connection) -> None:
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    if application_id != APPLICATION_ID:
        raise StoreCorrupted(f"{path} is a SQLite file, but not a metadata store: name another file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise StoreCorrupted(
            f"{path} has layout version {version}, this program reads {SCHEMA_VERSION}: use the version that wrote it"
        )
    check_result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if check_result != "ok":
        raise StoreCorrupted(f"{path} is torn ({check_result}): restore a backup")


def _make(path: Path) -> None:
    """Write the file under another name and link it into place: no process sees an incomplete file, and of two
    processes that create it the second one uses the file of the first."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.executescript(
            f"PRAGMA synchronous = OFF; PRAGMA application_id = {APPLICATION_ID};"
            f"PRAGMA user_version = {SCHEMA_VERSION}; BEGIN;"
            + (_HERE / "schema.sql").read_text()
            + "COMMIT; PRAGMA journal_mode = WAL;"
        )
    finally:
        connection.close()
    try:
        draft.chmod(0o600)  # it will hold SCRAM credentials, against which a reader could try passwords
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
            sync_folder(path.parent)
    finally:
        draft.unlink()


def _translated(path: Path, error: sqlite3.DatabaseError) -> StoreCorrupted | StoreUnavailable:
    text = str(error)
    if "not a database" in text:
        return StoreCorrupted(
            f"{path} is not a SQLite file: it was torn, or belongs to something else. It is left as it is; restore a "
            "backup, or name another file to start an empty cluster"
        )
    if "malformed" in text:
        return StoreCorrupted(f"{path} is torn ({text}): restore a backup")
    return StoreUnavailable(f"{path}: {text}")
