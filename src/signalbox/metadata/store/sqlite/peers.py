"""Detects when other participants have exited or send no heartbeat any more.

The end of a process shows at once: its process descriptor becomes readable. But the lock on its session file decides:
it also distinguishes participants of the same process, and is not affected by reused pids.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from signalbox.metadata.store.sqlite.session_file import PeerFile, Stamp, process_start_time


class Peers:
    """Session files and processes of the other participants. `on_death` is called when a peer's process has ended."""

    def __init__(self, folder: Path, on_death: Callable[[], None]) -> None:
        self._folder = folder
        self._on_death = on_death
        self._files: dict[int, PeerFile] = {}
        self._processes: dict[int, int] = {}

    def update(self, sessions: Mapping[int, str], own_session_id: int) -> None:
        """Apply the store's list of sessions."""
        for session_id in [known for known in self._files if known not in sessions]:
            self.forget(session_id)
        for session_id, name in sessions.items():
            if session_id != own_session_id and session_id not in self._files:
                self._files[session_id] = PeerFile(self._folder, name)
                self._watch_process(session_id)

    def find_ended(self) -> list[int]:
        """Ids of sessions that have ended: the owner has exited, or sent no heartbeat within its timeout."""
        now_ns = time.monotonic_ns()
        ended = []
        for session_id, file in self._files.items():
            stamp = file.read()
            if (stamp is not None and stamp.is_silent(now_ns)) or file.is_unowned():
                ended.append(session_id)
        return ended

    def stamps(self) -> list[Stamp]:
        """The peers' last heartbeats."""
        return [stamp for file in self._files.values() if (stamp := file.read()) is not None]

    def remove(self, session_ids: Iterable[int]) -> None:
        """Remove the files of these sessions, which the store has deleted."""
        for session_id in session_ids:
            if file := self._files.get(session_id):
                file.remove()
            self.forget(session_id)

    def forget(self, session_id: int) -> None:
        """Stop watching this peer."""
        if file := self._files.pop(session_id, None):
            file.close()
        self._unwatch_process(session_id)

    def close(self) -> None:
        """Stop watching all peers."""
        for session_id in list(self._files):
            self.forget(session_id)

    def _watch_process(self, session_id: int) -> None:
        stamp = self._files[session_id].read()
        if stamp is None or stamp.pid == os.getpid():
            return
        try:
            process = os.pidfd_open(stamp.pid)
        except OSError:
            return  # exited, or in another pid namespace: the lock on the session file decides
        if process_start_time(stamp.pid) != stamp.start_time:
            os.close(process)
            return
        self._processes[session_id] = process
        asyncio.get_running_loop().add_reader(process, self._died, session_id)

    def _unwatch_process(self, session_id: int) -> None:
        process = self._processes.pop(session_id, None)
        if process is not None:
            asyncio.get_running_loop().remove_reader(process)
            os.close(process)

    def _died(self, session_id: int) -> None:
        self._unwatch_process(session_id)
        self._on_death()
