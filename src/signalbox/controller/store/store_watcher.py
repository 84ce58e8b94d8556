"""The controller's watches on the store: nodes that register or leave, log directories that fail, direct metadata
writes of brokers, corrupt entries that are mended.

A watch only reports that something changed; then the store is read, once for all reports in the meantime. Reads of one
kind never overtake each other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from signalbox.controller.context import LiveBroker
from signalbox.controller.store.loading import brokers_of, load_controllers
from signalbox.metadata import layout
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind, are_mended
from signalbox.metadata.entries.feature_levels import LevelRanges
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.log_dir_event import decode_log_dir_event
from signalbox.metadata.store.port import CommitRejected, Delete, Fence, MetadataStore, StoreError, StoreFull

log = logging.getLogger(__name__)

_CORRUPT_ENTRIES = "corrupt entries"  # the subject of their reads; the others are paths

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class StoreObserver(Protocol):
    """Gets the notifications."""

    def on_brokers_changed(self, brokers: Mapping[int, LiveBroker]) -> None:
        """The brokers that are registered now."""
        ...

    def on_controllers_changed(self, controllers: Mapping[int, LevelRanges]) -> None:
        """The dedicated controllers that are registered now, and the feature levels that they support."""
        ...

    def log_dir_failed(self, broker_id: int) -> None:
        """A broker lost a log directory."""
        ...

    async def look_at_shared(self) -> None:
        """Brokers made direct metadata writes (`direct_writes/`): read them. StoreError, BadEntry."""
        ...

    def on_corruption_changed(self) -> None:
        """Corrupt entries were mended or deleted, or are corrupt in another way."""
        ...

    def on_read_failed(self, error: Exception) -> None:
        """The store could not be read, so notifications may be missing."""
        ...


class StoreWatcher:
    """Open while this node is the controller."""

    def __init__(self, store: MetadataStore, fence: Fence, reader: StoreObserver, spawn: Spawn) -> None:
        self._store = store
        self._fence = fence
        self._reader = reader
        self._spawn = spawn
        self._cancel: list[Callable[[], None]] = []
        self._is_open = False
        self._again: dict[str, bool] = {}
        self._registrations: dict[str, Callable[[], None]] = {}
        self._corrupt_registrations = CorruptEntries()
        self._observed: Mapping[int, LiveBroker] | None = None
        self._corrupt_entries: Mapping[str, bytes | None] = {}

    def open(self, corrupt_entries: Mapping[str, bytes | None]) -> None:
        """Begin to watch, the `corrupt_entries` (data by path) too."""
        self._is_open = True
        self._corrupt_entries = corrupt_entries
        self._cancel = [
            self._store.watch(layout.BROKER_IDS, self.look_at_brokers),
            self._store.watch(layout.CONTROLLER_IDS, self.look_at_controllers),
            self._store.watch(layout.LOG_DIR_EVENTS, self.look_at_log_dirs),
            self._store.watch(layout.SHARED_CHANGES, self.look_at_shared),
            *(self._store.watch(path, self.look_at_corrupt_entries) for path in corrupt_entries),
        ]

    def look_at_all(self) -> None:
        """Read what changed before the watches opened."""
        self.look_at_brokers()
        self.look_at_controllers()
        self.look_at_log_dirs()
        self.look_at_shared()
        self.look_at_corrupt_entries()

    def close(self) -> None:
        """Stop watching. A read under way reports nothing: a later controller epoch would get old data."""
        self._is_open = False
        for cancel in (*self._cancel, *self._registrations.values()):
            cancel()
        self._cancel, self._registrations, self._observed = [], {}, None

    def look_at_brokers(self) -> None:
        """Read the registrations (again)."""
        self._look(layout.BROKER_IDS, self._read_brokers)

    def look_at_controllers(self) -> None:
        """Read the registrations of dedicated controllers (again)."""
        self._look(layout.CONTROLLER_IDS, self._read_controllers)

    def look_at_log_dirs(self) -> None:
        """Read and remove the events of failed log directories."""
        self._look(layout.LOG_DIR_EVENTS, self._read_log_dirs)

    def look_at_shared(self) -> None:
        """Let the observer read what other nodes stored (again)."""
        self._look(layout.SHARED_CHANGES, self._reader.look_at_shared)

    def look_at_corrupt_entries(self) -> None:
        """Check whether corrupt entries have changed."""
        if self._corrupt_entries:
            self._look(_CORRUPT_ENTRIES, self._read_corrupt_entries)

    def _look(self, subject: str, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._is_open:
            return
        if subject in self._again:
            self._again[subject] = True
            return
        self._again[subject] = True
        self._spawn(self._read_until_quiet(subject, read))

    async def _read_until_quiet(self, subject: str, read: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            while self._again[subject] and self._is_open:
                self._again[subject] = False
                await read()
        except (StoreError, BadEntry) as error:
            if self._is_open:
                self._reader.on_read_failed(error)
        finally:
            del self._again[subject]

    async def _read_brokers(self) -> None:
        tree = await self._store.read_tree(layout.BROKER_IDS)
        brokers = brokers_of(tree, self._corrupt_registrations)
        if self._is_open:
            self._watch_registrations(tree.keys() - {layout.BROKER_IDS})
            if brokers != self._observed:
                self._observed = brokers
                self._reader.on_brokers_changed(brokers)

    async def _read_controllers(self) -> None:
        controllers = await load_controllers(self._store)
        if self._is_open:
            self._reader.on_controllers_changed(controllers)

    async def _read_corrupt_entries(self) -> None:
        if await are_mended(self._store, self._corrupt_entries) and self._is_open:
            self._reader.on_corruption_changed()

    def _watch_registrations(self, paths: AbstractSet[str]) -> None:
        """A broker's registration can change while it lives (its listeners: KIP-226), and a corrupt one can be
        repaired."""
        for path in self._registrations.keys() - paths:
            self._registrations.pop(path)()
        for path in paths - self._registrations.keys():
            self._registrations[path] = self._store.watch(path, self.look_at_brokers)
            self._again[layout.BROKER_IDS] = True  # it may have changed between the read and the watch

    async def _read_log_dirs(self) -> None:
        for path, entry in (await self._store.read_tree(layout.LOG_DIR_EVENTS)).items():
            if path == layout.LOG_DIR_EVENTS or not self._is_open:
                continue
            broker_id = CorruptEntries().read(EntryKind.LOG_DIR_EVENT, path, entry.data, decode_log_dir_event, None)
            if broker_id is not None:
                self._reader.log_dir_failed(broker_id)
            await self._remove(path)

    async def _remove(self, path: str) -> None:
        try:
            await self._store.commit([Delete(path)], self._fence)
        except CommitRejected as rejected:
            log.debug("Notification already removed: %s", rejected)
        except StoreFull as full:
            # It has been reported; the next read, here or on the next controller, reads it again and removes it.
            log.debug("Notification not removed: %s", full)
