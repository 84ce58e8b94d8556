"""Dynamic configs of every entity, kept up to date on every broker by the change notifications
(`change_notifications.py`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from signalbox.common.clock import Clock
from signalbox.metadata.change_notifications import ChangeNotifications, Following
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.entity_config import Configs, decode_config_change, decode_configs
from signalbox.metadata.layout import CONFIG, CONFIG_CHANGES, DEFAULT_ENTITY
from signalbox.metadata.store.concurrent_reads import read_all
from signalbox.metadata.store.port import Entry, MetadataStore, StoreError

log = logging.getLogger(__name__)

ConfigListener = Callable[[str, Configs], None]
_NOTHING: Configs = {}


class ConfigRepository:
    """Configs by entity path (`topics/flights`, `brokers/1`, `brokers/<default>`). Returned mappings are read-only."""

    def __init__(self, store: MetadataStore, clock: Clock) -> None:
        self._store = store
        self._configs: dict[str, Configs] = {}
        self._corrupt = CorruptEntries()
        self._listeners: list[ConfigListener] = []
        self._reading = asyncio.Lock()
        following = Following(CONFIG_CHANGES, decode_config_change, self._load, self._load_all)
        self._changes = ChangeNotifications(store, clock, following, self._reading)

    async def start(self) -> None:
        """Load all configs and follow the changes from then on. Needs the roots of the layout."""
        await self._changes.start()

    async def stop(self) -> None:
        """Stop following changes."""
        await self._changes.stop()

    async def catch_up(self) -> None:
        """Read all changes up to now, without waiting for the watch; StoreError."""
        await self._changes.catch_up()

    async def current(self) -> Mapping[str, Configs]:
        """The configs of all entities with all changes stored before this call; the cached ones when the store is
        unavailable."""
        try:
            await self._changes.catch_up()
        except StoreError as error:
            log.warning("Cached users and quotas are used, the metadata store is unavailable: %s", error)
        return self._configs

    def topic_config(self, topic: str) -> Configs:
        """The configs that are set for a topic (without defaults)."""
        return self.entity(f"topics/{topic}")

    def broker_config(self, broker_id: int) -> Configs:
        """The configs that are set for one broker."""
        return self.entity(f"brokers/{broker_id}")

    def broker_default_config(self) -> Configs:
        """The configs that are set for all brokers."""
        return self.entity(f"brokers/{DEFAULT_ENTITY}")

    def entity(self, entity_path: str) -> Configs:
        """The configs of any entity, empty when none are set."""
        return self._configs.get(entity_path, _NOTHING)

    def entities(self) -> Mapping[str, Configs]:
        """All entities that have configs."""
        return self._configs

    async def load(self, entity_paths: Iterable[str]) -> None:
        """Read these entities now: for a new topic, whose change notification may not have arrived."""
        async with self._reading:
            await self._load(entity_paths)

    def subscribe(self, listener: ConfigListener) -> Callable[[], None]:
        """Call `listener(entity_path, configs)` after each change, until the returned function is called; also after a
        change that sets the same values, by which an operator makes brokers read a file again (KIP-226)."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def _load(self, entity_paths: Iterable[str]) -> None:
        wanted = {f"{CONFIG}/{entity_path}": entity_path for entity_path in entity_paths}
        for (path, entity_path), entry in zip(wanted.items(), await read_all(self._store, wanted), strict=True):
            self._apply(entity_path, path, entry, notified=True)

    async def _load_all(self) -> None:
        found = await self._store.read_tree(CONFIG)
        entities = {
            path.removeprefix(CONFIG + "/"): path
            for path, entry in found.items()
            if "/" in path.removeprefix(CONFIG + "/") and not path.startswith(CONFIG_CHANGES) and entry.data is not None
        }
        for entity_path, path in entities.items():
            self._apply(entity_path, path, found[path])
        for entity_path in self._configs.keys() - entities.keys():
            self._apply(entity_path, f"{CONFIG}/{entity_path}", None)

    def _apply(self, entity_path: str, path: str, entry: Entry | None, *, notified: bool = False) -> None:
        data = None if entry is None else entry.data
        configs = self._corrupt.read(EntryKind.KEPT_CONFIGS, path, data, decode_configs, None)
        if configs is None:
            return
        present = self.entity(entity_path)
        if configs == present:
            if not (notified and configs):
                return
            configs = present
        if configs:
            self._configs[entity_path] = configs
        else:
            self._configs.pop(entity_path, None)
        for listener in list(self._listeners):
            try:
                listener(entity_path, configs)
            except Exception:
                log.exception("Listener of configs failed (entity=%s)", entity_path)
