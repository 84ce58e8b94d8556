"""Fixtures for any test suite: after signalbox is installed, pytest finds them by its entry point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="session")
def signalbox_cluster() -> Iterator[Cluster]:
    """Three brokers in this process, shared by the whole test session."""
    from signalbox.testing.cluster import Cluster

    with Cluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def signalbox_bootstrap(signalbox_cluster: Cluster) -> str:
    """`bootstrap.servers` of that cluster."""
    return signalbox_cluster.bootstrap_servers
