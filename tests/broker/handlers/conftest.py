from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.testing.cluster import Cluster
from tests.broker.handlers.running_broker import RunningBroker


@pytest.fixture(scope="package")
def running_broker() -> Iterator[RunningBroker]:
    with Cluster(brokers=1) as cluster:
        yield RunningBroker(cluster)
