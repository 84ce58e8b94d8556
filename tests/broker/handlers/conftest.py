from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.testing.cluster import Cluster
from tests.broker.handlers.house import House


@pytest.fixture(scope="package")
def house() -> Iterator[House]:
    with Cluster(brokers=1) as cluster:
        yield House(cluster)
