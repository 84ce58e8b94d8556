"""A broker's view of the finalized features: it watches `/feature` and reads it again at each change (KIP-584)."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.feature_levels import NO_FEATURES, FinalizedFeatures, decode_features
from signalbox.metadata.layout import FEATURE
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import Entry, MetadataStore


async def read_features(store: MetadataStore) -> FinalizedFeatures:
    """The finalized features that are stored now; StoreError, BadEntry."""
    return features_of(await store.read(FEATURE))


def features_of(entry: Entry | None) -> FinalizedFeatures:
    """The finalized features in `/feature`; BadEntry."""
    return NO_FEATURES if entry is None else decode_features(entry.data, entry.version)


class FeatureRepository:
    """`changed` is called with the finalized features at the start and after each change."""

    def __init__(self, store: MetadataStore, changed: Callable[[FinalizedFeatures], None]) -> None:
        self._store = store
        self._changed = changed
        self._cancel_watch: Callable[[], None] | None = None
        self._rereading = Rereading("features", self._read_again)
        self._last_notified: FinalizedFeatures | None = None
        self._corrupt = CorruptEntries()

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
        entry = await self._store.read(FEATURE)
        data = None if entry is None else entry.data
        features = self._corrupt.read(EntryKind.KEPT_FEATURES, FEATURE, data, lambda *_: features_of(entry), None)
        if features is not None:
            self._apply(features)

    def _apply(self, features: FinalizedFeatures) -> None:
        if features != self._last_notified:
            self._last_notified = features
            self._changed(features)
