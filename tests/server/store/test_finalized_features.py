"""A node and the finalized features of its cluster: a node that does not support them does not start, or stops."""

from __future__ import annotations

import pytest

from signalbox.common.config.start_error import StartError
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.feature_levels import FinalizedFeatures, encode_features
from signalbox.metadata.layout import FEATURE
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Write
from signalbox.server.store.finalized_features import follow_features, reject_unsupported_features
from tests.metadata.participants import run_with_stores

VALUES = {"zookeeper.connect": None, "signalbox.metadata.store": "sqlite:m.db"}


def test_a_start_needs_what_is_finalized() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await reject_unsupported_features(store, VALUES)
        await store.commit([Create(FEATURE, encode_features({"signalbox.version": 1}))])
        await reject_unsupported_features(store, VALUES)
        await store.commit([Write(FEATURE, encode_features({"signalbox.version": 2, "group.version": 1}))])
        with pytest.raises(StartError) as rejected:
            await reject_unsupported_features(store, VALUES)
        assert str(rejected.value) == (
            "signalbox.metadata.store (sqlite:m.db): group.version is finalized at 1 and not supported;"
            " signalbox.version is finalized at 2 and supported from 1 to 1. Run a release that supports it, or take it"
            " back first: kafka-features.sh downgrade --feature NAME=LEVEL"
        )
        await store.commit([Write(FEATURE, b"torn")])
        with pytest.raises(StartError, match=r"/feature holds no JSON"):
            await reject_unsupported_features(store, VALUES)

    run_with_stores(1, scenario)


def test_a_running_node_ends_when_it_cannot_follow() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        cache, ends = MetadataCache(), list[str]()
        repository = follow_features(store, cache, ends.append)
        await repository.start()
        await store.commit([Create(FEATURE, encode_features({"signalbox.version": 1}))])
        assert await cache.wait_until(
            lambda image: image.features == FinalizedFeatures({"signalbox.version": 1}, 0, True), 5
        )
        assert ends == []
        await store.commit([Write(FEATURE, encode_features({"later": 3}))])
        assert await cache.wait_until(lambda image: image.features.epoch == 1, 5)
        assert ends == [
            "this release does not support what the cluster has finalized: later is finalized at 3 and not supported"
        ]
        await repository.stop()

    run_with_stores(1, scenario)
