"""What finalized features (KIP-584) mean for this node: told to clients, and an end where it does not support them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signalbox.common.config_table import ConfigFault, Value
from signalbox.common.start_refused import StartRefused
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.feature_levels import SUPPORTED_FEATURES, FinalizedFeatures, incompatible
from signalbox.metadata.feature_repository import FeatureRepository, read_features
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.store.port import MetadataStore
from signalbox.wiring.metadata_store import store_setting


def follow_features(store: MetadataStore, cache: MetadataCache, fail: Callable[[str], None]) -> FeatureRepository:
    """The cache is told of every change; so is `fail` of one that this node cannot live with, as in Kafka."""

    def changed(features: FinalizedFeatures) -> None:
        cache.apply_features(features)
        if lacking := incompatible(SUPPORTED_FEATURES, features.levels):
            fail(f"this release does not support what the cluster has finalized: {'; '.join(lacking)}")

    return FeatureRepository(store, changed)


async def refuse_unsupported_features(store: MetadataStore, values: Mapping[str, Value]) -> None:
    """StartRefused when the cluster has finalized a feature that this release does not support."""
    key, setting = store_setting(values)
    try:
        lacking = incompatible(SUPPORTED_FEATURES, (await read_features(store)).levels)
    except BadEntry as error:
        remedy = "Write what it held, or remove it: the cluster then begins with no feature finalized"
        raise StartRefused([ConfigFault(key, setting, str(error), remedy)]) from error
    if lacking:
        remedy = (
            "Run a release that supports it, or take it back first: kafka-features.sh downgrade --feature NAME=LEVEL"
        )
        raise StartRefused([ConfigFault(key, setting, "; ".join(lacking), remedy)])
