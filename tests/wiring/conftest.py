from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Three brokers, with a page of metrics each."""
    with Cluster(brokers=3, overrides={"metrics.http.port": "0"}) as running:
        yield running
