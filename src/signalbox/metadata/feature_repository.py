"""Every broker's view of the finalized features: `/feature` watched and read again at each change (KIP-584)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.metadata.feature_levels import NO_FEATURES, FinalizedFeatures, decode_features
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import FEATURE
from signalbox.metadata.store.port import MetadataStore, StoreError

log = logging.getLogger(__name__)

_RETRY_S = 1.0


async def read_features(store: MetadataStore) -> FinalizedFeatures:
    """The finalized features as they are stored now; StoreError, BadEntry."""
    entry = await store.read(FEATURE)
    return NO_FEATURES if entry is None else decode_features(entry.data, entry.version)


class FeatureRepository:
    """`changed` is called with what is stored at the start and after each change."""

    def __init__(self, store: MetadataStore, changed: Callable[[FinalizedFeatures], None]) -> None:
        self._store = store
        self._changed = changed
        self._cancel_watch: Callable[[], None] | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._news = False
        self._told: FinalizedFeatures | None = None

    async def start(self) -> None:
        """Read, and follow from here on; StoreError, BadEntry."""
        self._cancel_watch = self._store.watch(FEATURE, self._notified)
        self._take(await read_features(self._store))

    async def stop(self) -> None:
        """Follow no more."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def _notified(self) -> None:
        self._news = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        while self._news:
            self._news = False
            try:
                self._take(await read_features(self._store))
            except BadEntry as error:
                log.error("keeping the old features: %s", error)
            except StoreError as error:
                log.warning("features could not be read, trying again: %s", error)
                self._news = True
                await asyncio.sleep(_RETRY_S)

    def _take(self, found: FinalizedFeatures) -> None:
        if found != self._told:
            self._told = found
            self._changed(found)
