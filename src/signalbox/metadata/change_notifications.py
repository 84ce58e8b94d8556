"""Follows one folder of change notifications: numbered entries that name what to read again.

A notification only names its subject. The subject is read again, so notifications may be merged, repeated or late.
Every reader removes notifications older than fifteen minutes, and the oldest ones when there are more than
`MAX_NOTIFICATIONS`, until half of that is left. A reader that finds a gap after the last notification it read (it was
suspended) may have missed some, and loads everything again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from signalbox.common.clock import Clock
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.concurrent_reads import read_all
from signalbox.metadata.store.port import CommitRejected, Delete, Entry, MetadataStore, StoreFull

log = logging.getLogger(__name__)

NOTIFICATION_LIFETIME_MS = 15 * 60 * 1000
MAX_NOTIFICATIONS = 200  # at every change every broker lists the names of all of them
_READ_ONE_BY_ONE = 16  # if there are more new notifications, the whole folder is read at once

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Following(Generic[Subject]):
    """How the notifications of a folder are processed: `decode(path, data)` returns the subject (BadEntry),
    `load(subjects)` and `load_all()` read from the store (StoreError)."""

    folder: str
    decode: Callable[[str, bytes | None], Subject]
    load: Callable[[Iterable[Subject]], Awaitable[None]]
    load_all: Callable[[], Awaitable[None]]


class ChangeNotifications(Generic[Subject]):
    """One reader's position in a folder of notifications. Other code that loads the same subjects (a reader of another
    folder, or a direct load) shares the lock `reading`, so that results are applied in the order of the reads."""

    def __init__(
        self, store: MetadataStore, clock: Clock, following: Following[Subject], reading: asyncio.Lock | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._following = following
        self._last_number = -1
        self._created_ms: dict[str, int] = {}  # of the existing notifications that have been read
        self._cancel_watch: Callable[[], None] = _do_nothing
        self._rereading = Rereading(f"changes in {following.folder}", self.catch_up)
        self._reading = reading or asyncio.Lock()

    async def start(self) -> None:
        """Load everything and follow the changes from then on; no change in between is missed."""
        folder = self._following.folder
        self._cancel_watch = self._store.watch(folder, self._rereading.notify)
        async with self._reading:
            self._last_number = max(map(_number, await self._store.children(folder)), default=-1)
            await self._following.load_all()

    async def stop(self) -> None:
        """Stop following changes."""
        self._cancel_watch()
        await self._rereading.stop()

    async def catch_up(self) -> None:
        """Read all changes up to now; StoreError."""
        async with self._reading:
            await self._read()

    async def _read(self) -> None:
        """Reads only new notifications: there may be two hundred, and ZooKeeper returns one entry at a time."""
        folder = self._following.folder
        names = await self._store.children(folder)
        notifications = sorted((_number(name), f"{folder}/{name}") for name in names)
        fresh = [path for number, path in notifications if number > self._last_number]
        if notifications and notifications[0][0] > self._last_number + 1:
            await self._following.load_all()
        found = await self._entries(fresh)
        if len(found) < len(fresh):
            await self._following.load_all()  # one was removed before it was read: its subject is unknown
        subjects: dict[Subject, None] = {}
        corrupt = CorruptEntries()
        for path, entry in found.items():
            self._created_ms[path] = entry.created_ms
            subject = corrupt.read(EntryKind.CHANGE_NOTIFICATION, path, entry.data, self._following.decode, None)
            if subject is not None:
                subjects[subject] = None
        if subjects:
            await self._following.load(subjects)
        if fresh:
            self._last_number = notifications[-1][0]
        await self._remove_old([path for _, path in notifications])

    async def _entries(self, paths: list[str]) -> dict[str, Entry]:
        """The entries that still exist, in the order of `paths`."""
        if len(paths) > _READ_ONE_BY_ONE:
            tree = await self._store.read_tree(self._following.folder)
            return {path: tree[path] for path in paths if path in tree}
        entries = zip(paths, await read_all(self._store, paths), strict=True)
        return {path: entry for path, entry in entries if entry is not None}

    async def _remove_old(self, paths: list[str]) -> None:
        """`paths` are ordered by number, the oldest first."""
        too_many = len(paths) - MAX_NOTIFICATIONS // 2 if len(paths) > MAX_NOTIFICATIONS else 0
        removable = paths[:too_many]
        for path in paths[too_many:]:
            if not await self._is_old(path):
                break
            removable.append(path)
        self._created_ms = {path: self._created_ms[path] for path in paths if path in self._created_ms}
        if not removable:
            return
        try:
            await self._store.commit([Delete(path) for path in removable])
        except CommitRejected as rejected:
            log.debug("Old change notifications are removed by another broker: %s", rejected)
        except StoreFull as full:
            log.debug("Old change notifications not removed: %s", full)

    async def _is_old(self, path: str) -> bool:
        """Whether a notification is past its lifetime. One that existed before the start is read once for that."""
        if path not in self._created_ms:
            entry = await self._store.read(path)
            if entry is None:
                return False  # another broker is removing them
            self._created_ms[path] = entry.created_ms
        return self._created_ms[path] < self._clock.now_ms() - NOTIFICATION_LIFETIME_MS


def _number(path: str) -> int:
    digits = path[-10:]
    return int(digits) if digits.isdecimal() else -1


def _do_nothing() -> None:
    """Cancels nothing: no watch was set yet."""
