"""Following one folder of change notifications: numbered entries that say what to read again.

A notification names its subject and no more; the subject is read again, so notifications can be merged, repeated or
come late. Those older than fifteen minutes are removed by whoever sees them, and half of them when they become many;
who finds that all it knew are gone (it slept) may have missed some and loads everything again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from signalbox.common.clock import Clock
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import CommitRefused, Delete, Entry, MetadataStore, StoreFull

log = logging.getLogger(__name__)

NOTIFICATION_LIFETIME_MS = 15 * 60 * 1000
MAX_NOTIFICATIONS = 200  # every change lists the names of all of them, on every broker
_READ_ONE_BY_ONE = 16  # more new ones than that are read with all that is there

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Following(Generic[Subject]):
    """What is done about a folder's news: `decode(path, data)` gives the subject (BadEntry), `load(subjects)` and
    `load_all()` read from the store (StoreError)."""

    folder: str
    decode: Callable[[str, bytes | None], Subject]
    load: Callable[[Iterable[Subject]], Awaitable[None]]
    load_all: Callable[[], Awaitable[None]]


class ChangeNotifications(Generic[Subject]):
    """One participant's place in a folder of notifications. Whoever else loads the same, another folder's news or
    somebody in a hurry, shares the lock `reading`, so that what was read first is taken first."""

    def __init__(
        self, store: MetadataStore, clock: Clock, following: Following[Subject], reading: asyncio.Lock | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._following = following
        self._last_number = -1
        self._created_ms: dict[str, int] = {}  # of those that are there, as far as it is known
        self._cancel_watch: Callable[[], None] = _do_nothing
        self._rereading = Rereading(f"changes in {following.folder}", self.catch_up)
        self._reading = reading or asyncio.Lock()

    async def start(self) -> None:
        """Load everything and follow the changes from here on; nothing falls between."""
        folder = self._following.folder
        self._cancel_watch = self._store.watch(folder, self._rereading.notify)
        async with self._reading:
            self._last_number = max(map(_number, await self._store.children(folder)), default=-1)
            await self._following.load_all()

    async def stop(self) -> None:
        """Follow no more."""
        self._cancel_watch()
        await self._rereading.stop()

    async def catch_up(self) -> None:
        """Read what came up to now; StoreError."""
        async with self._reading:
            await self._read()

    async def _read(self) -> None:
        """Only what is new is read: there may be two hundred of them, and ZooKeeper gives one at a time."""
        folder = self._following.folder
        names = await self._store.children(folder)
        notifications = sorted((_number(name), f"{folder}/{name}") for name in names)
        fresh = [path for number, path in notifications if number > self._last_number]
        if notifications and notifications[0][0] > self._last_number + 1:
            await self._following.load_all()
        found = await self._entries(fresh)
        if len(found) < len(fresh):
            await self._following.load_all()  # one was removed before it could be read: it may have named anything
        subjects: dict[Subject, None] = {}
        for path, entry in found.items():
            self._created_ms[path] = entry.created_ms
            try:
                subjects[self._following.decode(path, entry.data)] = None
            except BadEntry as error:
                log.error("skipping a change: %s", error)
        if subjects:
            await self._following.load(subjects)
        if fresh:
            self._last_number = notifications[-1][0]
        await self._remove_old([path for _, path in notifications])

    async def _entries(self, paths: list[str]) -> dict[str, Entry]:
        """Those that are still there, in order."""
        if len(paths) > _READ_ONE_BY_ONE:
            tree = await self._store.read_tree(self._following.folder)
            return {path: tree[path] for path in paths if path in tree}
        entries = zip(paths, await asyncio.gather(*map(self._store.read, paths)), strict=True)
        return {path: entry for path, entry in entries if entry is not None}

    async def _remove_old(self, paths: list[str]) -> None:
        """`paths` are in the order of their numbers, which is that of their ages."""
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
        except CommitRefused as refused:
            log.debug("another broker removes old changes: %s", refused)
        except StoreFull as full:
            log.debug("old changes stay until the next one: %s", full)

    async def _is_old(self, path: str) -> bool:
        """Whether it is past its lifetime. One that was there before us is looked at once."""
        if path not in self._created_ms:
            entry = await self._store.read(path)
            if entry is None:
                return False  # somebody else is removing them
            self._created_ms[path] = entry.created_ms
        return self._created_ms[path] < self._clock.now_ms() - NOTIFICATION_LIFETIME_MS


def _number(path: str) -> int:
    digits = path[-10:]
    return int(digits) if digits.isdecimal() else -1


def _do_nothing() -> None:
    """The watch that was never set."""
