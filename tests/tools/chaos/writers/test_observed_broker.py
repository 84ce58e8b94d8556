"""The history of an observed file names the session of every write; rejected writes are not in it."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tools.chaos.writers.observed_broker import history_of_file, make_observed, open_observed

from signalbox.metadata.store.port import Create, Delete, KeyExists, Write
from signalbox.metadata.store.sqlite.adapter import SqliteMetadataStore
from signalbox.metadata.store.sqlite.database import Database


@pytest.fixture
def observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "metadata.db"
    make_observed(file)
    monkeypatch.setattr(Database, "__init__", open_observed)
    return file


def test_who_wrote_what_in_which_commit(observed: Path) -> None:
    async def write() -> list[int]:
        one, other = SqliteMetadataStore(observed), SqliteMetadataStore(observed)
        sessions = [await one.open_session(), await other.open_session()]
        await one.commit([Create("/a"), Create("/a/b", b"1")])
        with pytest.raises(KeyExists):
            await other.commit([Write("/a", b"x"), Create("/a/b", b"2")])
        await other.commit([Write("/a", b"2"), Delete("/a/b")])
        await one.close()
        await other.close()
        return sessions

    first, second = asyncio.run(write())
    history = list(history_of_file(observed))
    assert [(each.session_id, each.path) for each in history] == [
        (first, "/a"), (first, "/a/b"), (second, "/a"), (second, "/a/b"),
    ]  # fmt: skip
    assert history[0].order == history[1].order < history[2].order == history[3].order


def test_a_broker_that_does_not_observe_itself_writes_as_ever(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    make_observed(file)

    async def write() -> None:
        store = SqliteMetadataStore(file)
        await store.commit([Create("/a")])
        await store.close()

    asyncio.run(write())
    assert list(history_of_file(file)) == []
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (2,)


def test_the_observed_broker_is_the_broker(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.chaos.writers.observed_broker", str(tmp_path / "none")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "none" in ended.stderr
