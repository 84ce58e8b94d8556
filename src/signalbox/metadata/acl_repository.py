"""All ACLs of the cluster, kept up to date on every broker that authorizes by them (SPEC F1).

Each change makes a new `AclIndex`, so that one authorization sees one state from beginning to end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.change_notifications import ChangeNotifications, Following
from signalbox.metadata.entries.acl_entries import (
    ACL_FOLDERS,
    ROOT_OF,
    Entries,
    acl_path,
    decode_acls,
    decode_extended_change,
    decode_literal_change,
    pattern_of,
)
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.layout import ACL_CHANGES, EXTENDED_ACL_CHANGES, create_roots
from signalbox.metadata.store.concurrent_reads import read_all
from signalbox.metadata.store.port import Entry, MetadataStore, StoreError
from signalbox.security.acl import ResourcePattern
from signalbox.security.acl_view import AclIndex

log = logging.getLogger(__name__)

_MOST_READ_SINGLY = 64  # with more changed patterns all ACLs are read, as one tree


class AclRepository:
    """`changed` is called with every new index, the first one included."""

    def __init__(
        self, store: MetadataStore, clock: Clock, scheduler: TaskScheduler, changed: Callable[[AclIndex], None]
    ) -> None:
        self._store = store
        self._scheduler = scheduler
        self._changed = changed
        self._index = AclIndex()
        self._corrupt = CorruptEntries()
        reading = asyncio.Lock()
        self._changes = [
            ChangeNotifications(store, clock, Following(folder, decode, self._load, self._load_all), reading)
            for folder, decode in ((ACL_CHANGES, decode_literal_change), (EXTENDED_ACL_CHANGES, decode_extended_change))
        ]

    @property
    def index(self) -> AclIndex:
        """The ACLs that were read last."""
        return self._index

    async def start(self) -> None:
        """Create the folders, load all ACLs and follow the changes from then on."""
        await create_roots(self._store, ACL_FOLDERS)
        for changes in self._changes:
            await changes.start()

    async def stop(self) -> None:
        """Stop following changes."""
        for changes in self._changes:
            await changes.stop()

    async def current(self) -> AclIndex:
        """The ACLs with all changes stored before this call; the cached ones when the store is unavailable."""
        try:
            for changes in self._changes:
                await changes.catch_up()
        except StoreError as error:
            log.warning("Cached ACLs are used, the metadata store is unavailable: %s", error)
        return self._index

    async def _load(self, patterns: Iterable[ResourcePattern]) -> None:
        wanted = list(patterns)
        if len(wanted) > _MOST_READ_SINGLY:
            await self._load_all()
            return
        entries = await read_all(self._store, map(acl_path, wanted))
        await self._take(dict(zip(wanted, entries, strict=True)))

    async def _load_all(self) -> None:
        found: dict[ResourcePattern, Entry | None] = {pattern: None for pattern, _ in self._index.patterns()}
        for root in ROOT_OF.values():
            for path, entry in (await self._store.read_tree(root)).items():
                pattern = pattern_of(path)
                if pattern is not None:
                    found[pattern] = entry
        await self._take(found)

    async def _take(self, found: dict[ResourcePattern, Entry | None]) -> None:
        """Runs once at a time: the caller holds the lock of the notifications."""
        changed = await self._scheduler.result_of(partial(self._changes_in, found))
        if changed or self._index.stamp == 0:
            self._index = self._index.with_changes(changed)
            self._changed(self._index)

    def _changes_in(self, found: dict[ResourcePattern, Entry | None]) -> dict[ResourcePattern, Entries]:
        """The entries that differ from those of the index. Yields."""
        changed: dict[ResourcePattern, Entries] = {}
        for pattern, entry in yielding(found.items()):
            path = acl_path(pattern)
            data = None if entry is None else entry.data
            previous = self._index.entries_on(pattern)
            entries = self._corrupt.read(EntryKind.KEPT_ACLS, path, data, decode_acls, previous)
            if entries != previous:
                changed[pattern] = entries
        return changed
