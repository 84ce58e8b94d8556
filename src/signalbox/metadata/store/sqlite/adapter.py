"""The metadata store port over a SQLite file: combines the sessions, commits and watches of this package.

Everything but `_on_worker...` runs on the event loop. A tick every 250 ms writes the heartbeat, looks for ended
sessions and detects commits whose notification was lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from signalbox.common.clock import Clock, SystemClock
from signalbox.common.log_limiter import TransitionLog
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.store.port import (
    Entry,
    Fence,
    Operation,
    OperationResult,
    SessionLost,
    StoreError,
    StoreUnavailable,
    parent_of,
)
from signalbox.metadata.store.sqlite.change_notifier import EVERYTHING, ChangeNotifier
from signalbox.metadata.store.sqlite.database import Database, StepRejected, WriterBusy
from signalbox.metadata.store.sqlite.peers import Peers
from signalbox.metadata.store.sqlite.session_file import SessionFile
from signalbox.metadata.store.sqlite.steps import Step, begin, join, leave, rejection, steps_of
from signalbox.metadata.store.sqlite.watches import Watches
from signalbox.metadata.store.sqlite.worker import Worker
from signalbox.metadata.store.sqlite.write_lock import end_stopped_holder

log = logging.getLogger(__name__)

T = TypeVar("T")

TICK_S = 0.25
_SESSIONS = "sessions"  # notified (it is not a path) when a session was added or ended
_EXTRA_WAIT_S = 5.0  # on top of the session timeout: how long a commit waits for a write lock held by another


class SqliteMetadataStore:
    """One participant's access to the file at `path`. The methods are documented in `MetadataStore`. A node passes its
    `scheduler`; a tool needs none."""

    max_commit_bytes = 64 << 20  # SQLite has no such limit; this one bounds the time that other writers wait

    def __init__(
        self,
        path: Path | str,
        session_timeout_ms: int = 6_000,
        clock: Clock | None = None,
        scheduler: TaskScheduler | None = None,
    ) -> None:
        self._path = Path(path)
        self._scheduler = scheduler
        self._session_timeout_ms = session_timeout_ms
        self._clock = clock or SystemClock()
        self._pieces: _Pieces | None = None
        self._closed = False
        self._session_id = 0
        self._lost = False
        self._session_file: SessionFile | None = None
        self._lost_callbacks: list[Callable[[], None]] = []
        self._watches = Watches()
        self._last_data_version = -1
        self._tick_running = False
        self._session_cleanup: asyncio.Task[None] | None = None
        self._cleanup_log = TransitionLog(log)
        self._heartbeat_log = TransitionLog(log)

    @property
    def session_id(self) -> int:
        """The open session, 0 without one."""
        return self._session_id

    # The port

    async def open_session(self) -> int:
        pieces = self._started()
        sessions = await self._ask(lambda: pieces.database().sessions())
        pieces.peers.update(sessions, self._session_id)
        ended = pieces.peers.find_ended()
        if self._session_id:
            ended.append(self._session_id)
        file = self._new_session_file(pieces.folder)
        steps = [begin(0), *(leave(session_id) for session_id in ended), join(file.name)]
        try:
            results = await self._run(steps)
        except BaseException:
            file.close()
            raise
        pieces.peers.remove(ended)
        if self._session_file is not None:
            self._session_file.close()
        self._session_file, self._lost = file, False
        self._session_id = next(result.creation_id for result in results if result.path == file.name)
        return self._session_id

    def _new_session_file(self, folder: Path) -> SessionFile:
        try:
            return SessionFile(folder, self._session_timeout_ms)
        except OSError as error:
            raise StoreUnavailable(f"{folder}: no session can be opened: {error.strerror}") from error

    @property
    def has_session(self) -> bool:
        return self._session_file is not None and not self._lost

    def on_session_lost(self, callback: Callable[[], None]) -> None:
        self._lost_callbacks.append(callback)

    async def read(self, path: str) -> Entry | None:
        pieces = self._started()
        return await self._ask(lambda: pieces.database().read(path))

    async def children(self, path: str) -> list[str]:
        pieces = self._started()
        return await self._ask(lambda: pieces.database().children(path))

    async def read_tree(self, path: str) -> dict[str, Entry]:
        pieces = self._started()
        return await self._ask(lambda: pieces.database().read_tree(path))

    async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[OperationResult]:
        pieces = self._started()
        if self._lost:
            raise SessionLost("the session has ended")
        session_id, now_ms = self._session_id, self._clock.now_ms()
        scheduler = self._scheduler or TaskScheduler(asyncio.get_running_loop())
        steps = [begin(session_id, fence, only_check=not operations)]
        steps += await scheduler.result_of(partial(steps_of, operations, session_id, now_ms))
        try:
            return await self._run(steps)
        except StepRejected as rejected:
            paths = {path for operation in operations for path in (operation.path, parent_of(operation.path))}
            seen = await self._ask(lambda: pieces.database().fingerprints(paths))
            error = rejection(rejected.reason, operations, fence, {path: print_[1] for path, print_ in seen.items()})
            if isinstance(error, SessionLost):
                self._session_is_lost(session_id)
            raise error from None

    def watch(self, path: str, callback: Callable[[], None]) -> Callable[[], None]:
        pieces = self._started()
        if self._watches.add(path, callback):
            # The worker takes the first fingerprint before any read that the caller submits from now on.
            self._look({path}, pieces)
        return lambda: self._watches.remove(path, callback)

    async def close(self) -> None:
        if self._closed:
            return
        session_id, self._session_id = self._session_id, 0
        if self._pieces is not None and session_id and not self._lost:
            try:
                await self._run([begin(0), leave(session_id)])
            except (StoreError, StepRejected) as error:
                log.warning("Session %d could not be closed and will expire: %s", session_id, error)
        if self._session_file is not None:
            self._session_file.close()
        if self._pieces is not None:
            await self._pieces.close()
        self._closed = True

    def abandon(self) -> None:
        """Stop like a killed process: the lock is freed, the session is not closed, no callback is called any more."""
        self._closed = True
        if self._session_file is not None:
            self._session_file.abandon()
        if self._pieces is not None:
            self._pieces.abandon()

    # Commits

    async def _run(self, steps: Sequence[Step]) -> list[OperationResult]:
        """Run the steps, notify the other participants, and compare the entries that this participant watches."""
        pieces = self._started()
        deadline = time.monotonic() + self._session_timeout_ms / 1000 + _EXTRA_WAIT_S
        while True:
            try:
                results, touched = await self._ask(lambda: self._on_worker_commit(pieces, steps))
                break
            except WriterBusy:
                if time.monotonic() > deadline:
                    raise StoreUnavailable(f"{self._path}: another process holds its write lock") from None
                end_stopped_holder(self._path, pieces.peers.stamps(), time.monotonic_ns())
        self._look(touched, pieces)
        return results

    def _on_worker_commit(self, pieces: _Pieces, steps: Sequence[Step]) -> tuple[list[OperationResult], set[str]]:
        # Notified here, not on the loop: it is earlier, and a cancelled caller cannot prevent it.
        results = pieces.database().run_steps(steps)
        touched = _touched(steps, results)
        pieces.notifier.notify(touched)
        return results, touched

    # Watching

    def _on_notification(self) -> None:
        pieces = self._pieces
        if pieces is None or self._closed:
            return
        notified = pieces.notifier.receive()
        self._look(self._watches.paths() if EVERYTHING in notified else notified, pieces)
        if notified & {_SESSIONS, EVERYTHING}:
            self._ask(lambda: pieces.database().sessions()).add_done_callback(self._sessions_listed)

    def _look(self, paths: Iterable[str], pieces: _Pieces) -> None:
        """Compare the watched entries among `paths` with their last fingerprints, and fire the watches of those that
        changed."""
        watched = self._watches.take_for_look(paths)
        if watched and not self._closed:
            self._ask(lambda: pieces.database().fingerprints(watched)).add_done_callback(self._looked)

    def _looked(self, answer: asyncio.Future[dict[str, tuple[int | None, int | None, int | None]]]) -> None:
        if not self._closed and not answer.cancelled() and answer.exception() is None:
            self._watches.compare(answer.result())

    def _tick(self) -> None:
        pieces = self._pieces
        if pieces is None or self._closed:
            return
        pieces.next_tick = asyncio.get_running_loop().call_later(TICK_S, self._tick)
        if self._session_file is not None and not self._lost:
            self._beat(self._session_file)
        self._end_dead_sessions()
        if not self._tick_running:
            self._tick_running = True
            self._ask(lambda: self._on_worker_tick(pieces)).add_done_callback(self._ticked)

    def _beat(self, file: SessionFile) -> None:
        try:
            file.beat()
        except OSError as error:
            self._heartbeat_log.failed(f"Heartbeat of session {self._session_id} cannot be written: {error}")
        else:
            self._heartbeat_log.recovered()

    def _on_worker_tick(self, pieces: _Pieces) -> tuple[int, dict[int, str]] | None:
        """Data version and all sessions if another connection has committed since the last tick; else None."""
        version = pieces.database().data_version()
        if version == self._last_data_version:
            return None
        return version, pieces.database().sessions()

    def _ticked(self, answer: asyncio.Future[tuple[int, dict[int, str]] | None]) -> None:
        self._tick_running = False
        pieces = self._pieces
        if pieces is None or answer.cancelled() or answer.exception() is not None:
            return
        change = answer.result()
        if change is None:
            return
        # Only now: after a failed read the change must be detected again.
        self._last_data_version, sessions = change
        self._take_sessions(sessions)
        self._look(self._watches.paths(), pieces)

    # Sessions

    def _sessions_listed(self, answer: asyncio.Future[dict[int, str]]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._take_sessions(answer.result())

    def _take_sessions(self, sessions: dict[int, str]) -> None:
        if self._closed or self._pieces is None:
            return
        if self._session_id and self._session_id not in sessions:
            self._session_is_lost(self._session_id)
        self._pieces.peers.update(sessions, self._session_id)

    def _session_is_lost(self, session_id: int) -> None:
        if not session_id or session_id != self._session_id or self._lost:
            return
        log.warning("Session %d expired: this process sent no heartbeat within the session timeout", session_id)
        self._lost = True
        if self._session_file is not None:
            self._session_file.close()
            self._session_file = None
        loop = asyncio.get_running_loop()
        for callback in self._lost_callbacks:
            loop.call_soon(callback)

    def _end_dead_sessions(self) -> None:
        pieces = self._pieces
        if pieces is None or self._closed or (self._session_cleanup is not None and not self._session_cleanup.done()):
            return
        if ended := pieces.peers.find_ended():
            self._session_cleanup = asyncio.get_running_loop().create_task(self._end_sessions(ended))

    async def _end_sessions(self, ended: list[int]) -> None:
        pieces = self._started()
        if not self._cleanup_log.is_failing:
            log.info(
                "Ending sessions %s: their processes have exited or sent no heartbeat within the session timeout", ended
            )
        try:
            await self._run([begin(0), *(leave(session_id) for session_id in ended)])
        except (StoreError, StepRejected) as error:
            self._cleanup_log.failed(f"Ended sessions {ended} cannot be removed yet: {error}")
            return
        self._cleanup_log.recovered()
        pieces.peers.remove(ended)

    # Worker and components

    def _ask(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return self._started().worker.submit(work)

    def _started(self) -> _Pieces:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        if self._pieces is None:
            self._pieces = _Pieces(self._path, self._end_dead_sessions)
            loop = asyncio.get_running_loop()
            loop.add_reader(self._pieces.notifier.fileno(), self._on_notification)
            self._pieces.next_tick = loop.call_later(TICK_S, self._tick)
        return self._pieces


class _Pieces:
    """The parts of an open store: the folder beside the file, the worker thread, the change notifier, the peers."""

    def __init__(self, path: Path, on_death: Callable[[], None]) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.folder = path.with_name(path.name + "-peers")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.worker = Worker(f"sqlite {path.name}")
        self.notifier = ChangeNotifier(self.folder)
        self.peers = Peers(self.folder, on_death)
        self.next_tick: asyncio.TimerHandle | None = None
        self._database: Database | None = None

    def database(self) -> Database:
        """The database, opened on first use. Runs on the worker thread."""
        if self._database is None:
            self._database = Database(self._path)
        return self._database

    async def close(self) -> None:
        """Finish the queued work, then release all resources."""
        self._deaf()
        closed = self.worker.submit(self._on_worker_close)
        self.worker.stop()
        await closed
        self.notifier.close()

    def abandon(self) -> None:
        """Release all resources like a killed process: the session file and the socket's name stay."""
        self._deaf()
        self.worker.stop(last=self._on_worker_abandon)

    def _deaf(self) -> None:
        if self.next_tick is not None:
            self.next_tick.cancel()
        asyncio.get_running_loop().remove_reader(self.notifier.fileno())
        self.peers.close()

    def _on_worker_close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _on_worker_abandon(self) -> None:
        self._on_worker_close()
        self.notifier.abandon()


def _touched(steps: Sequence[Step], results: Iterable[OperationResult]) -> set[str]:
    """The paths to notify: every entry of the results and its parent, and `_SESSIONS` if the sessions changed."""
    paths: set[str] = set()
    for result in results:
        if result.path.startswith("/"):
            paths |= {result.path, parent_of(result.path)}
    if any(step[0] in ("join", "leave") for step in steps):
        paths.add(_SESSIONS)
    return paths
