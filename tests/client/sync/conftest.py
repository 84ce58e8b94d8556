from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.client.sync.sync_client import SyncClient
from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, overrides={"group.min.session.timeout.ms": "100"}) as made:
        yield made


@pytest.fixture
def client(cluster: Cluster) -> Iterator[SyncClient]:
    with SyncClient.of(cluster.bootstrap_servers) as made:
        yield made
