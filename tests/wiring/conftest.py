from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.common.clock import ManualClock
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Three brokers with a metrics page each."""
    with Cluster(brokers=3, overrides={"signalbox.metrics.http.port": "0"}) as running:
        yield running


@pytest.fixture
def repository() -> ConfigRepository:
    """A repository that has loaded nothing: no dynamic configs are set."""
    return ConfigRepository(MemoryMetadataStore(SharedEntries()), ManualClock())
