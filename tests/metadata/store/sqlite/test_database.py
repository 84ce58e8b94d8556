"""The SQLite file: created atomically, checked, and rejected with the reason if it is corrupt."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signalbox.metadata.store.port import Create, StoreCorrupted, StoreFull, StoreUnavailable, Write
from signalbox.metadata.store.sqlite.database import Database, StepRejected, WriterBusy
from signalbox.metadata.store.sqlite.steps import begin, join, leave, step_of
from tests.small_disk import small_disk


def test_a_new_file_is_whole_and_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    database = Database(path)
    assert database.read("/") is not None
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    database.close()
    assert [each.name for each in tmp_path.iterdir()] == ["metadata.db"]


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """The file has SCRAM credentials. SQLite gives its other files the same mode."""
    database = Database(tmp_path / "metadata.db")
    database.run_steps([begin(0), join("me")])
    assert {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {
        "metadata.db": 0o600,
        "metadata.db-wal": 0o600,
        "metadata.db-shm": 0o600,
    }
    database.close()


def test_makers_at_the_same_time_share_one_file(tmp_path: Path) -> None:
    path, opened, errors = tmp_path / "metadata.db", [], []

    def make() -> None:
        try:
            database = Database(path)
            opened.append(database.run_steps([begin(0), join(threading.current_thread().name)]))
            database.close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=make, name=f"maker-{number}") for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(results[0].creation_id for results in opened) == [1, 2, 3, 4, 5, 6]


def test_a_maker_that_finds_no_file_accepts_the_one_that_another_makes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, others, exists = tmp_path / "metadata.db", list[Database](), Path.exists

    def exists_too_late(file: Path) -> bool:
        result = exists(file)
        if file == path and not result and not others:
            monkeypatch.undo()
            others.append(Database(path))
            others[0].run_steps([begin(0), join("other")])
        return result

    monkeypatch.setattr(Path, "exists", exists_too_late)
    database = Database(path)
    results = database.run_steps([begin(0), join("second")])
    assert results[0].creation_id == 2, "one file, the second session in it"
    for each in (database, *others):
        each.close()


@contextmanager
def files_end_at(size_bytes: int) -> Iterator[None]:
    """Like a full disk: a write that would extend a file beyond this size fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_on_a_full_disk_what_fits_is_stored(tmp_path: Path) -> None:
    """The write-ahead log may not grow, so it is reused from its start. Large commits fail, small ones succeed."""
    database = Database(tmp_path / "metadata.db")
    session_id = database.run_steps([begin(0), join("me")])[0].creation_id

    def commit(operation: Create | Write) -> bool:
        try:
            database.run_steps([begin(session_id), step_of(operation, session_id, 1)])
        except StoreUnavailable:
            return False
        return True

    assert commit(Create("/small", b"0"))
    with files_end_at(300_000):
        kept = 0
        for number in range(200):
            assert not commit(Write("/small", b"large" * 100_000)), "more than there is room for"
            if commit(Write("/small", str(number).encode())):
                kept = number
            entry = database.read("/small")
            assert entry is not None
            assert entry.data == str(kept).encode(), "what was stored last"
        assert kept == 199
    database.close()


def rejection_of(path: Path) -> str:
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(StoreCorrupted) as caught:
        Database(path)
    assert {each: each.read_bytes() for each in before} == before, "a corrupt file is left as it is"
    return str(caught.value)


def test_a_second_connection_of_a_process_leaves_its_locks_alone(tmp_path: Path) -> None:
    """Without its locks another process, which closes the file, takes itself for the last one and removes the log of
    the commits to come."""
    path = tmp_path / "metadata.db"
    first, second = Database(path), Database(path)
    opened_and_closed = (
        "import sys; from pathlib import Path; from signalbox.metadata.store.sqlite.database import Database\n"
        "Database(Path(sys.argv[1])).close()"
    )
    subprocess.run([sys.executable, "-c", opened_and_closed, path], check=True)
    assert path.with_name("metadata.db-wal").exists()
    first.run_steps([begin(0), step_of(Create("/later"), 0, 0)])
    other = sqlite3.connect(path)
    assert other.execute("SELECT count(*) FROM entry WHERE path = '/later'").fetchone() == (1,)
    other.close()
    second.close()
    first.close()


def test_an_empty_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    path.touch()
    assert "empty" in rejection_of(path)


def test_a_text_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    path.write_text("broker.id=1\n" * 100)
    assert "not a SQLite file" in rejection_of(path)


def test_another_programs_database_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    assert "not a metadata store" in rejection_of(path)


def test_another_layout_version_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    assert "layout version 9" in rejection_of(path)


def test_a_torn_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    database = Database(path)
    database.run_steps([begin(0), *(step_of(Create(f"/{n}", b"x" * 3000), 0, 0) for n in range(50))])
    database.close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    assert "torn" in rejection_of(path)


def test_a_missing_file_with_a_log_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    (tmp_path / "metadata.db-wal").write_bytes(b"x" * 100)
    assert "missing" in rejection_of(path)


def test_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupted, match="folder"):
        Database(tmp_path)


def test_a_file_that_cannot_be_made_is_an_error_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open"):
        Database(tmp_path / "no such folder" / "m.db")


def test_steps_return_results_and_rejections(tmp_path: Path) -> None:
    database = Database(tmp_path / "metadata.db")
    [session] = database.run_steps([begin(0), join("session-a")])
    [made] = database.run_steps(
        [begin(session.creation_id), step_of(Create("/a", b"x", of_session=True), session.creation_id, 5)]
    )
    assert (made.path, made.version) == ("/a", 0)
    with pytest.raises(StepRejected, match="key_exists"):
        database.run_steps([begin(0), step_of(Create("/a"), 0, 0)])
    [gone] = database.run_steps([begin(0), leave(session.creation_id)])
    assert gone.path == "/a"
    with pytest.raises(StepRejected, match="session_lost"):
        database.run_steps([begin(session.creation_id)])
    assert database.sessions() == {}
    database.close()


@pytest.mark.parametrize("value", ["x'ff00'", "CAST(x'ff' AS TEXT)", "5", "1.5"])
def test_data_written_by_another_program_is_read_as_bytes(tmp_path: Path, value: str) -> None:
    """The reader of the corrupt entry reports the error; all other entries are read as before."""
    path = tmp_path / "metadata.db"
    database = Database(path)
    database.run_steps([begin(0), step_of(Create("/a", b"x"), 0, 0), step_of(Create("/b", b"y"), 0, 0)])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(f"UPDATE entry SET data = {value}, version = version + 1 WHERE path = '/a'")
    tree = database.read_tree("/")
    assert tree["/b"].data == b"y"
    assert isinstance(tree["/a"].data, bytes)
    other.close()
    database.close()


def test_a_held_write_lock_is_busy_and_reads_go_on(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    database, holder = Database(path), sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(WriterBusy):
        database.run_steps([begin(0), step_of(Create("/a"), 0, 0)])
    assert database.read("/") is not None
    holder.execute("ROLLBACK")
    database.run_steps([begin(0), step_of(Create("/a"), 0, 0)])
    holder.close()
    database.close()


def test_data_version_moves_with_others_commits_only(tmp_path: Path) -> None:
    one, two = Database(tmp_path / "metadata.db"), Database(tmp_path / "metadata.db")
    before = one.data_version()
    one.run_steps([begin(0), step_of(Create("/a"), 0, 0)])
    assert one.data_version() == before
    two.run_steps([begin(0), step_of(Create("/b"), 0, 0)])
    assert one.data_version() != before
    one.close()
    two.close()


def test_commits_rejected_on_a_full_disk_are_absent_after_a_crash(tmp_path: Path) -> None:
    """The rejection is final: the write-ahead log on disk has nothing of the commit that a recovery could find."""
    with small_disk(tmp_path, 2 << 20) as disk:
        path = disk.path / "metadata.db"
        database = Database(path)
        database.run_steps([begin(0), step_of(Create("/kept", b"0"), 0, 1)])
        disk.fill()
        kept, rejections = 0, set()
        for number in range(1, 61):
            for data in (b"x" * 100_000, b"%d" % number):
                try:
                    database.run_steps([begin(0), step_of(Write("/kept", data), 0, 1)])
                    kept = number
                except StoreFull as full:
                    rejections.add((number, len(data), str(full)))
            if number % 10 == 0:
                crashed = tmp_path / f"crashed-{number}.db"
                for ending in ("", "-wal"):
                    shutil.copy(f"{path}{ending}", f"{crashed}{ending}")
                for each in (database, Database(crashed)):
                    found = each.read("/kept")
                    assert found is not None
                    assert found.data == b"%d" % kept, "what was stored last"
        assert len(rejections) >= 60
        words = f"nothing was changed: the disk that holds the metadata store {path} is full (database or disk is full)"
        assert {message for _, _, message in rejections} == {f"{words}. Make room there, then ask again"}
        disk.make_room()
        database.run_steps([begin(0), step_of(Write("/kept", b"x" * 100_000), 0, 1)])
        database.close()


def test_a_rejection_on_a_full_disk_leaves_no_transaction_open(tmp_path: Path) -> None:
    one, two = Database(tmp_path / "metadata.db"), Database(tmp_path / "metadata.db")
    one._connection.execute("PRAGMA max_page_count = 1")  # the file cannot grow
    with pytest.raises(StoreFull):
        one.run_steps([begin(0), step_of(Create("/large", b"x" * 500_000), 0, 1)])
    two.run_steps([begin(0), step_of(Create("/a"), 0, 1)])
    assert one.read("/large") is None
    assert one.read("/a") is not None
    one.close()
    two.close()
