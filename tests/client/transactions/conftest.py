from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.feature_admin import FeatureUpdate
from signalbox.testing.cluster import Cluster

OVERRIDES = {
    "auto.create.topics.enable": "false",
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


async def finalize(cluster: Cluster, level: int) -> None:
    async with AdminClient.of(cluster.bootstrap_servers) as admin:
        results = await admin.update_features({"transaction.version": FeatureUpdate(level)})
        results["transaction.version"].raise_for_error()


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Transaction version 1: nothing is finalized in a new cluster."""
    with Cluster(brokers=2, overrides=OVERRIDES) as made:
        yield made


@pytest.fixture(scope="package")
def version_2_cluster() -> Iterator[Cluster]:
    with Cluster(brokers=2, overrides=OVERRIDES) as made:
        asyncio.run(finalize(made, 2))
        yield made


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def both_versions(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of each transaction version."""
    made: Cluster = request.getfixturevalue("cluster" if request.param == 1 else "version_2_cluster")
    return made
