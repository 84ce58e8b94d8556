"""Every broker's view of the finalized features follows the store."""

from __future__ import annotations

import asyncio
import logging

import pytest

from signalbox.metadata.entries.feature_levels import NO_FEATURES, FinalizedFeatures, encode_features
from signalbox.metadata.feature_repository import FeatureRepository
from signalbox.metadata.layout import FEATURE
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Write
from tests.metadata.participants import run_with_stores


def test_changes_are_followed_and_corrupt_entries_ignored(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        notified: asyncio.Queue[FinalizedFeatures] = asyncio.Queue()
        repository = FeatureRepository(reader, notified.put_nowait)
        await repository.start()
        assert await notified.get() == NO_FEATURES
        await writer.commit([Create(FEATURE, encode_features({}))])
        assert await notified.get() == FinalizedFeatures({}, 0, True)
        await writer.commit([Write(FEATURE, encode_features({"f": 1}))])
        assert await notified.get() == FinalizedFeatures({"f": 1}, 1, True)
        with caplog.at_level(logging.ERROR):
            await writer.commit([Write(FEATURE, b"torn")])
            await writer.commit([Write("/config", b"a later change of something else")])
        await writer.commit([Write(FEATURE, encode_features({"f": 2}))])
        assert await notified.get() == FinalizedFeatures({"f": 2}, 3, True)
        await writer.commit([Delete(FEATURE)])
        assert await notified.get() == NO_FEATURES
        await repository.stop()
        await writer.commit([Create(FEATURE, encode_features({"f": 3}))])
        assert notified.empty()

    run_with_stores(2, scenario)
