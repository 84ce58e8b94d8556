"""A broker's view of the finalized features: it watches `/feature` and reads it again at each change (KIP-584)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from signalbox.metadata.entries.feature_levels import NO_FEATURES, FinalizedFeatures, decode_features
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.layout import FEATURE
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import MetadataStore

log = logging.getLogger(__name__)


async def read_features(store: MetadataStore) -> FinalizedFeatures:
    """The finalized features that are stored now; StoreError, BadEntry."""
    entry = await store.read(FEATURE)
    return NO_FEATURES if entry is None else decode_features(entry.data, entry.version)


class FeatureRepository:
    """`changed` is called with the finalized features at the start and after each change."""

    def __init__(self, store: MetadataStore, changed: Callable[[FinalizedFeatures], None]) -> None:
        self._store = store
        self._changed = changed
        self._cancel_watch: Callable[[], None] | None = None
        self._rereading = Rereading("features", self._read_again)
        self._last_notified: FinalizedFeatures | None = None

    async def start(self) -> None:
        """Read the features and follow their changes from then on; StoreError, BadEntry."""
        self._cancel_watch = self._store.watch(FEATURE, self._rereading.notify)
        self._apply(await read_features(self._store))

    async def stop(self) -> None:
        """Stop following changes."""
        if self._cancel_watch is not None:
            self._cancel_watch()
        await self._rereading.stop()

    async def _read_again(self) -> None:
        try:
            self._apply(await read_features(self._store))
        except BadEntry as error:
            log.error("Corrupt feature levels ignored, the previous ones stay in effect: %s", error)

    def _apply(self, features: FinalizedFeatures) -> None:
        if features != self._last_notified:
            self._last_notified = features
            self._changed(features)
