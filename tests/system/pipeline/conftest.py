"""Topics on the system tests' cluster. Spark runs in processes of its own here: they are to be killed."""

from __future__ import annotations

import pytest

from tests.pipeline.topics import Topics


@pytest.fixture(scope="session")
def topics(kafka_bootstrap: str) -> Topics:
    """Makes and fills topics."""
    return Topics(kafka_bootstrap, replicas=3)
