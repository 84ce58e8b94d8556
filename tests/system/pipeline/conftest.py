"""Topics on the system tests' cluster. Spark runs in processes of its own here, since tests kill them."""

from __future__ import annotations

import pytest

from tests.pipeline.topics import Topics


@pytest.fixture(scope="session")
def topics(kafka_bootstrap: str) -> Topics:
    """Creates and fills topics."""
    return Topics(kafka_bootstrap, replicas=3)
