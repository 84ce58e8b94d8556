"""The conformance table against the full list of Apache Kafka 4.4's APIs, read from its own jar."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from signalbox.broker.conformance import read_conformance
from tests.system.kafka_definitions import kafka_4_4
from tests.system.provision import jars

NEEDS = (partial(jars, "kafka44"),)
TABLE = Path(__file__).parents[3] / "docs" / "conformance.toml"
# APIs that Kafka 4 has removed and brokers of the ZooKeeper era use.
DROPPED_BY_4 = {"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"}


@pytest.mark.spec("D16")
def test_every_api_of_kafka_4_4_has_a_row() -> None:
    apis = {name.removesuffix("Request") for name, definition in kafka_4_4().items() if definition["type"] == "request"}
    names = [row.name for row in read_conformance(TABLE).apis]
    assert len(names) == len(set(names)), "an API has two rows"
    assert set(names) - DROPPED_BY_4 == apis
    assert len(apis) == 91
