"""What the controller hears from the store: nodes that registered or vanished, log directories that failed, what
brokers stored by themselves, leaders their ISR among it, damaged topics that somebody mends.

A watch only says "look"; the look is taken once however often it said so meanwhile, and looks of one kind never
overtake each other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import LiveBroker
from signalbox.controller.damage import TopicDamage
from signalbox.controller.loading import brokers_of, load_controllers
from signalbox.controller.topic_loading import has_changed
from signalbox.metadata import layout
from signalbox.metadata.feature_levels import LevelRanges
from signalbox.metadata.isr_change import decode_isr_change
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.log_dir_event import decode_log_dir_event
from signalbox.metadata.store.port import CommitRefused, Delete, Fence, MetadataStore, StoreError, StoreFull

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class NewsReader(Protocol):
    """Who wants the news."""

    async def brokers_are(self, brokers: Mapping[int, LiveBroker]) -> None:
        """These brokers are registered now. StoreError."""
        ...

    def controllers_are(self, controllers: Mapping[int, LevelRanges]) -> None:
        """These dedicated controllers are registered now, and support these levels of features."""
        ...

    def log_dir_failed(self, broker_id: int) -> None:
        """A broker lost a log directory."""
        ...

    async def isr_changed(self, partitions: Iterable[TopicPartition]) -> None:
        """Leaders stored the ISR of these partitions, which may be unknown: read it. StoreError."""
        ...

    async def look_at_shared(self) -> None:
        """Others stored what more than one broker may write: read it. StoreError, BadEntry."""
        ...

    def damage_changed(self) -> None:
        """What could not be read of topics is mended, gone, or damaged in another way."""
        ...

    def news_failed(self, error: Exception) -> None:
        """The store could not be read, so news may be missing."""
        ...


class StoreNews:
    """Open while this node is the controller."""

    def __init__(self, store: MetadataStore, fence: Fence, reader: NewsReader, spawn: Spawn) -> None:
        self._store = store
        self._fence = fence
        self._reader = reader
        self._spawn = spawn
        self._cancel: list[Callable[[], None]] = []
        self._is_open = False
        self._again: dict[str, bool] = {}
        self._registrations: dict[str, Callable[[], None]] = {}
        self._said: set[str] = set()  # of registrations that cannot be read
        self._told: Mapping[int, LiveBroker] | None = None
        self._damaged: Mapping[str, TopicDamage] = {}

    def open(self, damaged: Mapping[str, TopicDamage]) -> None:
        """Watch from now on, `damaged` topics too."""
        self._is_open = True
        self._damaged = damaged
        self._cancel = [
            self._store.watch(layout.BROKER_IDS, self.look_at_brokers),
            self._store.watch(layout.CONTROLLER_IDS, self.look_at_controllers),
            self._store.watch(layout.LOG_DIR_EVENTS, self.look_at_log_dirs),
            self._store.watch(layout.ISR_CHANGES, self.look_at_isr_changes),
            self._store.watch(layout.SHARED_CHANGES, self.look_at_shared),
            *(self._store.watch(path, self.look_at_damage) for each in damaged.values() for path in each.problems),
        ]

    def look_at_all(self) -> None:
        """What came before the watches."""
        self.look_at_brokers()
        self.look_at_controllers()
        self.look_at_log_dirs()
        self.look_at_isr_changes()
        self.look_at_shared()
        self.look_at_damage()

    def close(self) -> None:
        """Watch no more. A look under way tells nothing: for a later term it would be old."""
        self._is_open = False
        for cancel in (*self._cancel, *self._registrations.values()):
            cancel()
        self._cancel, self._registrations, self._told = [], {}, None

    def look_at_brokers(self) -> None:
        """Read the registrations (again)."""
        self._look(layout.BROKER_IDS, self._read_brokers)

    def look_at_controllers(self) -> None:
        """Read the registrations of dedicated controllers (again)."""
        self._look(layout.CONTROLLER_IDS, self._read_controllers)

    def look_at_log_dirs(self) -> None:
        """Read and remove the events of failed log directories."""
        self._look(layout.LOG_DIR_EVENTS, self._read_log_dirs)

    def look_at_isr_changes(self) -> None:
        """Read and remove what leaders say of the ISRs that they stored."""
        self._look(layout.ISR_CHANGES, self._read_isr_changes)

    def look_at_shared(self) -> None:
        """Have what others stored read (again)."""
        self._look(layout.SHARED_CHANGES, self._reader.look_at_shared)

    def look_at_damage(self) -> None:
        """See whether damaged topics can be read (again)."""
        if self._damaged:
            self._look(layout.TOPICS, self._read_damaged)

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
                self._reader.news_failed(error)
        finally:
            del self._again[subject]

    async def _read_brokers(self) -> None:
        tree = await self._store.read_tree(layout.BROKER_IDS)
        brokers = brokers_of(tree, self._said)
        if self._is_open:
            self._watch_registrations(tree.keys() - {layout.BROKER_IDS})
            if brokers != self._told:
                self._told = brokers
                await self._reader.brokers_are(brokers)

    async def _read_controllers(self) -> None:
        controllers = await load_controllers(self._store)
        if self._is_open:
            self._reader.controllers_are(controllers)

    async def _read_damaged(self) -> None:
        if await has_changed(self._store, self._damaged) and self._is_open:
            self._reader.damage_changed()

    def _watch_registrations(self, paths: AbstractSet[str]) -> None:
        """What a broker says about itself can change while it lives (its listeners: KIP-226), and what cannot be read
        can be mended."""
        for path in self._registrations.keys() - paths:
            self._registrations.pop(path)()
        for path in paths - self._registrations.keys():
            self._registrations[path] = self._store.watch(path, self.look_at_brokers)
            self._again[layout.BROKER_IDS] = True  # it may have changed between the look and the watch

    async def _read_log_dirs(self) -> None:
        for path, entry in (await self._store.read_tree(layout.LOG_DIR_EVENTS)).items():
            if path == layout.LOG_DIR_EVENTS or not self._is_open:
                continue
            try:
                self._reader.log_dir_failed(decode_log_dir_event(path, entry.data))
            except BadEntry as error:
                log.error("skipping a log directory's failure: %s", error)
            await self._remove(path)

    async def _read_isr_changes(self) -> None:
        """All that are there are one piece of news. They go when it has been told, the unreadable ones too; a term that
        ends before leaves them to the next one."""
        found = await self._store.read_tree(layout.ISR_CHANGES)
        found.pop(layout.ISR_CHANGES, None)
        named: list[TopicPartition] = []
        for path, entry in found.items():
            try:
                named += decode_isr_change(path, entry.data)
            except BadEntry as error:
                log.error("skipping a change of the ISR: %s", error)
        if named and self._is_open:
            await self._reader.isr_changed(named)
        for path in found:
            if self._is_open:
                await self._remove(path)

    async def _remove(self, path: str) -> None:
        try:
            await self._store.commit([Delete(path)], self._fence)
        except CommitRefused as refused:
            log.debug("news was removed by somebody else: %s", refused)
        except StoreFull as full:
            # It has been told; the next look, here or of the next controller, reads it once more and removes it.
            log.debug("news stays where it is: %s", full)
