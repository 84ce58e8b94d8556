from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    overrides = {
        "auto.create.topics.enable": "false",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    with Cluster(brokers=2, overrides=overrides) as made:
        yield made
