from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.feature_admin import FeatureUpdate, UpgradeType
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.update_features import UpdateFeaturesResponse
from signalbox.testing.cluster import Cluster
from tests.client.admin_apis.over_cluster import over_cluster
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin


@pytest.mark.spec("R10")
def test_features_are_described_and_updated(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        features = await admin.describe_features()
        assert features.finalized.keys() <= features.supported.keys()
        assert features.finalized_epoch >= 0
        low, high = features.supported["transaction.version"]
        assert low < high
        validated = await admin.update_features({"transaction.version": FeatureUpdate(high)}, validate_only=True)
        assert validated["transaction.version"].error == Error.NONE
        assert (await admin.describe_features()).finalized == features.finalized
        with pytest.raises(KafkaError):
            await admin.update_features({"no.such.feature": FeatureUpdate(1)})

    over_cluster(cluster, test)


@pytest.mark.parametrize(("version", "kind", "downgrades"), [(0, 1, True), (1, 3, False)])
def test_an_old_broker_gets_the_old_field(version: int, kind: int, downgrades: bool) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        made = UpdateFeaturesResponse

        def answer(request: Any, version: int) -> Any:
            rows = [
                made.UpdatableFeatureResult(feature="f", error_code=Error.INVALID_UPDATE_VERSION, error_message="no")
            ]
            return made(results=rows)

        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.UPDATE_FEATURES] = version
        broker.scripts[ApiKey.UPDATE_FEATURES] = answer
        result = await admin.update_features({"f": FeatureUpdate(1, UpgradeType.UNSAFE_DOWNGRADE)})
        assert (result["f"].error, result["f"].message) == (Error.INVALID_UPDATE_VERSION, "no")
        (row,) = broker.seen(ApiKey.UPDATE_FEATURES)[0].feature_updates
        assert (row.upgrade_type, row.allow_downgrade) == (kind, downgrades)

    with_admin(test)
