"""KAFKA_OPTS is read as Kafka's scripts read it. More of it is in tests/network/listeners/test_jaas_location.py."""

from __future__ import annotations

import pytest

from signalbox.common.config.java_properties import java_property


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ("", None),
        ("-Dzookeeper.sasl.clients=false", None),
        ("-Xmx1g -Dzookeeper.sasl.client=false", "false"),
        ("-Dzookeeper.sasl.client=a '-Dzookeeper.sasl.client=b c'", "b c"),
        ("-Dzookeeper.sasl.client=a 'open", "a"),
    ],
)
def test_the_last_one_counts(options: str, value: str | None) -> None:
    assert java_property("zookeeper.sasl.client", {"KAFKA_OPTS": options}) == value
