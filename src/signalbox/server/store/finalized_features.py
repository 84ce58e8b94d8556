"""Finalized features (KIP-584) on this node: they are returned to clients, and a node stops if it does not support
one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.common.config.config_table import ConfigFault, Value
from signalbox.common.config.start_error import StartError
from signalbox.configuration.metadata_store import store_setting
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.feature_levels import SUPPORTED_FEATURES, FinalizedFeatures, incompatible
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.feature_repository import FeatureRepository, read_features
from signalbox.metadata.store.port import MetadataStore


def follow_features(store: MetadataStore, cache: MetadataCache, fail: Callable[[str], None]) -> FeatureRepository:
    """Every change goes to the cache. `fail` is called when the node does not support a finalized feature, as in
    Kafka."""

    def changed(features: FinalizedFeatures) -> None:
        cache.apply_features(features)
        if lacking := incompatible(SUPPORTED_FEATURES, features.levels):
            fail(f"this release does not support what the cluster has finalized: {'; '.join(lacking)}")

    return FeatureRepository(store, changed)


async def reject_unsupported_features(store: MetadataStore, values: Mapping[str, Value]) -> None:
    """StartError when the cluster has finalized a feature that this release does not support."""
    key, setting = store_setting(values)
    try:
        lacking = incompatible(SUPPORTED_FEATURES, (await read_features(store)).levels)
    except BadEntry as error:
        remedy = "Write what it held, or remove it: the cluster then begins with no feature finalized"
        raise StartError([ConfigFault(key, setting, str(error), remedy)]) from error
    if lacking:
        remedy = (
            "Run a release that supports it, or take it back first: kafka-features.sh downgrade --feature NAME=LEVEL"
        )
        raise StartError([ConfigFault(key, setting, "; ".join(lacking), remedy)])
