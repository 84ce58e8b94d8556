"""A cluster apart from that of the other commands: tests of those expect that no group was used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.testing.cluster import Cluster
from tests.cli.conftest import Run, runner_of


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=2) as running:
        yield running


@pytest.fixture(scope="package")
def run(cluster: Cluster) -> Run:
    return runner_of(cluster)
