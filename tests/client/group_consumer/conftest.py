from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    overrides = {"group.min.session.timeout.ms": "100", "auto.create.topics.enable": "false"}
    with Cluster(brokers=2, overrides=overrides) as made:
        yield made
