"""One Kafka for the pipeline's system tests. Spark runs in processes of its own here: they are to be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipeline.apache_kafka import apache_kafka
from tests.pipeline.topics import Topics


@pytest.fixture(scope="package")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running Kafka."""
    with apache_kafka(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="package")
def topics(kafka_bootstrap: str) -> Topics:
    """Makes and fills topics."""
    return Topics(kafka_bootstrap)
