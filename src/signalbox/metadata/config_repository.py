"""Dynamic configs of every entity, kept current on every broker by the change notifications (facts §2.4).

A notification names an entity and no more; the entity is read again, so notifications can be merged, repeated or
come late. Those older than fifteen minutes are removed by whoever sees them, and half of them when they become many;
who finds that all it knew are gone (it slept) may have missed some and loads everything again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from signalbox.common.clock import Clock
from signalbox.metadata.entity_config import Configs, decode_config_change, decode_configs
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import CONFIG, CONFIG_CHANGES, DEFAULT_ENTITY
from signalbox.metadata.store.port import CommitRefused, Delete, Entry, MetadataStore, StoreError

log = logging.getLogger(__name__)

NOTIFICATION_LIFETIME_MS = 15 * 60 * 1000
MAX_NOTIFICATIONS = 1_000  # every change reads all of them
_RETRY_S = 1.0

ConfigListener = Callable[[str, Configs], None]
_NOTHING: Configs = {}


class ConfigRepository:
    """Configs by entity path (`topics/flights`, `brokers/1`, `brokers/<default>`). What it returns is read-only."""

    def __init__(self, store: MetadataStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._configs: dict[str, Configs] = {}
        self._last_notification = -1
        self._listeners: list[ConfigListener] = []
        self._cancel_watch: Callable[[], None] = _do_nothing
        self._refreshing: asyncio.Task[None] | None = None
        self._news = False

    async def start(self) -> None:
        """Load everything and follow the changes from here on. Needs the roots of the layout."""
        self._cancel_watch = self._store.watch(CONFIG_CHANGES, self._notified)
        notifications = await self._store.children(CONFIG_CHANGES)
        self._last_notification = max(map(_number, notifications), default=-1)
        await self._load_all()

    async def stop(self) -> None:
        """Follow no more."""
        self._cancel_watch()
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def topic_config(self, topic: str) -> Configs:
        """What was set for a topic (not the defaults)."""
        return self.entity(f"topics/{topic}")

    def broker_config(self, broker_id: int) -> Configs:
        """What was set for one broker."""
        return self.entity(f"brokers/{broker_id}")

    def broker_default_config(self) -> Configs:
        """What was set for all brokers."""
        return self.entity(f"brokers/{DEFAULT_ENTITY}")

    def entity(self, entity_path: str) -> Configs:
        """The configs of any entity, empty when none are set."""
        return self._configs.get(entity_path, _NOTHING)

    def entities(self) -> Mapping[str, Configs]:
        """All entities that have configs."""
        return self._configs

    async def load(self, entity_paths: Iterable[str]) -> None:
        """Read these entities now: for a topic just made, whose notification may still be on its way."""
        for entity_path in entity_paths:
            path = f"{CONFIG}/{entity_path}"
            self._take(entity_path, path, await self._store.read(path))

    def subscribe(self, listener: ConfigListener) -> Callable[[], None]:
        """Call `listener(entity_path, configs)` after each change, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _notified(self) -> None:
        self._news = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        while self._news:
            self._news = False
            try:
                await self._read_notifications()
            except StoreError as error:
                log.warning("config changes could not be read, trying again: %s", error)
                self._news = True
                await asyncio.sleep(_RETRY_S)

    async def _load_all(self) -> None:
        found = await self._store.read_tree(CONFIG)
        entities = {
            path.removeprefix(CONFIG + "/"): path
            for path, entry in found.items()
            if "/" in path.removeprefix(CONFIG + "/") and not path.startswith(CONFIG_CHANGES) and entry.data is not None
        }
        for entity_path, path in entities.items():
            self._take(entity_path, path, found[path])
        for entity_path in self._configs.keys() - entities.keys():
            self._take(entity_path, f"{CONFIG}/{entity_path}", None)

    async def _read_notifications(self) -> None:
        found = await self._store.read_tree(CONFIG_CHANGES)
        notifications = sorted((_number(path), path) for path in found if path != CONFIG_CHANGES)
        fresh = [(number, path) for number, path in notifications if number > self._last_notification]
        if notifications and notifications[0][0] > self._last_notification + 1:
            await self._load_all()
        entity_paths: dict[str, None] = {}
        for _, path in fresh:
            try:
                entity_paths[decode_config_change(path, found[path].data)] = None
            except BadEntry as error:
                log.error("skipping a config change: %s", error)
        await self.load(entity_paths)
        if fresh:
            self._last_notification = fresh[-1][0]
        await self._remove_old([path for _, path in notifications], found)

    def _take(self, entity_path: str, path: str, entry: Entry | None) -> None:
        try:
            configs = {} if entry is None else decode_configs(path, entry.data)
        except BadEntry as error:
            log.error("keeping the old configs of %s: %s", entity_path, error)
            return
        if configs == self.entity(entity_path):
            return
        if configs:
            self._configs[entity_path] = configs
        else:
            self._configs.pop(entity_path, None)
        for listener in list(self._listeners):
            try:
                listener(entity_path, configs)
            except Exception:
                log.exception("a follower of the configs failed on %s", entity_path)

    async def _remove_old(self, paths: list[str], found: Mapping[str, Entry]) -> None:
        """`paths` are in the order of their numbers."""
        oldest_kept_ms = self._clock.now_ms() - NOTIFICATION_LIFETIME_MS
        too_many = len(paths) - MAX_NOTIFICATIONS // 2 if len(paths) > MAX_NOTIFICATIONS else 0
        removable = [
            path for index, path in enumerate(paths) if index < too_many or found[path].created_ms < oldest_kept_ms
        ]
        if not removable:
            return
        try:
            await self._store.commit([Delete(path) for path in removable])
        except CommitRefused as refused:
            log.debug("another broker removes old config changes: %s", refused)


def _number(path: str) -> int:
    digits = path[-10:]
    return int(digits) if digits.isdigit() else -1


def _do_nothing() -> None:
    """The watch that was never set."""
