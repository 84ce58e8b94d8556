"""Participants in processes of their own: killed, stopped, or stopped inside a transaction (SPEC M3)."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from signalbox.metadata.store.port import (
    Create,
    Delete,
    OperationResult,
    StoreCorrupted,
    StoreFull,
    StoreUnavailable,
    Write,
)
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.metadata.store.sqlite.database import Database
from signalbox.metadata.store.sqlite.steps import begin, step_of
from tests.metadata.store.sqlite.process import OtherProcess, other_process
from tests.small_disk import SmallDisk, small_disk


def with_store(path: Path, scenario: Callable[[SqliteMetadataStore], Awaitable[None]]) -> None:
    async def run() -> None:
        store = SqliteMetadataStore(path)
        await store.open_session()
        try:
            async with asyncio.timeout(30):
                await scenario(store)
        finally:
            await store.close()

    asyncio.run(run())


async def until_gone(store: SqliteMetadataStore, path: str) -> None:
    changed = asyncio.Event()
    cancel = store.watch(path, changed.set)
    while await store.read(path) is not None:
        await changed.wait()
        changed.clear()
    cancel()


async def read_line(other: OtherProcess) -> str:
    return await asyncio.get_running_loop().run_in_executor(None, other.read_line)


def test_sigkill_ends_a_session_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        with other_process(path, session_timeout_ms=60_000) as other:  # longer than this test may take
            assert await store.read("/mine") is not None
            # After the notification of the new session the store has the list of sessions and watches the process.
            await store.commit([Create("/settled")])
            other.process.kill()
            await until_gone(store, "/mine")

    with_store(path, scenario)


def test_a_stopped_process_loses_its_session_and_its_writes(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        with other_process(path, session_timeout_ms=600) as other:
            os.kill(other.process.pid, signal.SIGSTOP)
            await until_gone(store, "/mine")
            os.kill(other.process.pid, signal.SIGCONT)
            other.ask("commit")
            assert await read_line(other) == "SessionLost"
            assert await store.read("/late") is None

    with_store(path, scenario)


def test_a_process_stopped_inside_a_transaction_is_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        with other_process(path, session_timeout_ms=600) as other:
            other.ask("lock")
            assert await read_line(other) == "locked"
            os.kill(other.process.pid, signal.SIGSTOP)
            await store.commit([Create("/went-on")])
            assert other.process.wait(5) == -signal.SIGKILL
            await until_gone(store, "/mine")

    with caplog.at_level(logging.WARNING):
        with_store(path, scenario)
    assert "stopped inside a transaction" in caplog.text


def test_a_live_process_in_a_long_transaction_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        with other_process(path) as other:
            other.ask("lock")
            assert await read_line(other) == "locked"
            writing = asyncio.ensure_future(store.commit([Create("/waited")]))
            assert (await asyncio.wait([writing], timeout=0.5))[1] == {writing}
            assert other.process.poll() is None
            other.process.kill()
            assert [each.path for each in await writing] == ["/waited"]

    with_store(path, scenario)


def test_quick_restart_finds_its_old_registration_gone(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"

    async def scenario() -> None:
        with other_process(path) as other:
            other.process.kill()
            other.process.wait()
            store = SqliteMetadataStore(path)
            await store.open_session()
            assert await store.read("/mine") is None
            await store.close()

    asyncio.run(scenario())


def test_commits_without_notification_are_found_by_polling(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        changed = asyncio.Event()
        store.watch("/a", changed.set)
        assert await store.read("/a") is None
        # A writer that sends no notifications: another program on the same file.
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("INSERT INTO entry VALUES ('/a', '/', 'x', 0, 0, 0, 99, 0, 0)")
        other.close()
        async with asyncio.timeout(60):
            await changed.wait()

    with_store(path, scenario)


def test_an_entry_created_and_deleted_between_two_comparisons_fires_the_watch(tmp_path: Path) -> None:
    """Another participant may have read the entry meanwhile: a broker that was expelled at once did not notice it."""
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        changed = asyncio.Event()
        store.watch("/a", changed.set)
        assert await store.read("/a") is None
        other = Database(path)  # it sends no notification, and the event loop does not run between its commits
        for operation in (Create("/a"), Delete("/a")):
            other.run_steps([begin(0), step_of(operation, 0, 0)])
        other.close()
        await changed.wait()

    with_store(path, scenario)


def test_participants_that_start_at_once_get_sessions_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        stores = [SqliteMetadataStore(tmp_path / "metadata.db") for _ in range(3)]
        ids = await asyncio.gather(*(store.open_session() for store in stores))
        assert len(set(ids)) == 3
        for store in stores:
            await store.close()

    asyncio.run(scenario())


def test_nothing_is_left_behind_by_a_clean_end(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        await store.commit([Create("/a")])

    with_store(path, scenario)
    assert os.listdir(tmp_path / "metadata.db-peers") == []
    assert sorted(os.listdir(tmp_path)) == ["metadata.db", "metadata.db-peers"]


def test_long_paths_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / ("long-" * 30) / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        changed = asyncio.Event()
        other = SqliteMetadataStore(path)
        other.watch("/a", changed.set)
        assert await other.read("/a") is None
        await store.commit([Create("/a")])
        await changed.wait()
        await other.close()

    with_store(path, scenario)


def test_a_corrupt_file_is_reported_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    path.write_bytes(b"")

    async def scenario() -> None:
        store = SqliteMetadataStore(path)
        with pytest.raises(StoreCorrupted, match="empty"):
            await store.open_session()
        await store.close()

    asyncio.run(scenario())
    assert path.read_bytes() == b""


def test_a_file_that_may_not_grow_is_unavailability(tmp_path: Path) -> None:
    """An I/O error is not SQLITE_FULL: it is not certain whether the commit succeeded."""
    path = tmp_path / "metadata.db"

    async def scenario(store: SqliteMetadataStore) -> None:
        await store.commit([Create("/a", b"x")])
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, usual[1]))
        try:
            with pytest.raises(StoreUnavailable):
                await store.commit([Write("/a", b"x" * 500_000)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        found = await store.read("/a")
        assert found is not None
        assert found.data == b"x"
        await store.commit([Delete("/a")])

    with_store(path, scenario)


def test_on_a_full_disk_sessions_live_and_none_can_begin(tmp_path: Path) -> None:
    async def scenario(disk: SmallDisk) -> None:
        path = disk.path / "metadata.db"
        store, late = SqliteMetadataStore(path, session_timeout_ms=600), SqliteMetadataStore(path)
        session_id, lost = await store.open_session(), asyncio.Event()
        store.on_session_lost(lost.set)
        await store.commit([Create("/mine", of_session=True)])
        assert await late.read("/mine") is not None
        disk.fill()
        with pytest.raises(StoreUnavailable, match="no session can be opened"):
            await late.open_session()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lost.wait(), 1.5)
        found = await late.read("/mine")
        assert found is not None
        assert found.session_id == session_id
        disk.make_room()
        await late.open_session()
        await store.close()
        await late.close()

    with small_disk(tmp_path, 2 << 20) as disk:
        asyncio.run(scenario(disk))


def test_a_dead_session_that_cannot_be_removed_yet_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "signalbox.metadata.store.sqlite.adapter")

    async def scenario() -> None:
        # A session timeout that no stall of the machine reaches: only the freed lock ends the session.
        path = tmp_path / "metadata.db"
        store, dead = (SqliteMetadataStore(path, session_timeout_ms=60_000) for _ in range(2))
        await store.open_session()
        await dead.open_session()
        await dead.commit([Create("/its", of_session=True)])
        tries, real = 0, Database.run_steps

        def full(self: Database, steps: Sequence[Sequence[object]]) -> list[OperationResult]:
            nonlocal tries
            if self.path != path:
                return real(self, steps)  # of the cluster of the test session, which runs in this process
            tries += 1
            if tries > 3:
                return real(self, steps)
            raise StoreFull("full")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Database, "run_steps", full)
            dead.abandon()
            await until_gone(store, "/its")
        await store.close()

    asyncio.run(scenario())
    assert [each.message.partition(" [")[0] for each in caplog.records] == [
        "Ending sessions",
        "Ended sessions",
    ]
