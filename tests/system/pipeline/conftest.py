"""Topics on the system tests' cluster. Spark runs in processes of its own here, since tests kill them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipeline.object_store.store_server import StoreServer, store_server
from tests.pipeline.topics import Topics


@pytest.fixture(scope="session")
def topics(kafka_bootstrap: str) -> Topics:
    """Creates and fills topics."""
    return Topics(kafka_bootstrap, replicas=3)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    """An S3 server with an empty bucket."""
    with store_server(tmp_path_factory.mktemp("store")) as server:
        yield server
