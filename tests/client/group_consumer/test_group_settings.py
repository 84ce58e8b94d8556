from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.failures import ConfigRejected
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings


def test_defaults_are_those_of_the_java_client() -> None:
    settings = GroupConsumerSettings(group_id="g")
    assert settings.session_timeout_ms == 45_000
    assert settings.heartbeat_interval_ms == 3_000
    assert settings.max_poll_interval_ms == 300_000
    assert settings.fetch.auto_offset_reset == "latest"
    assert list(settings.partition_assignment_strategy) == ["range", "cooperative-sticky"]


@pytest.mark.parametrize(
    ("strategy", "cooperative"),
    [(["range"], False), (["cooperative-sticky"], True), (["cooperative-sticky", "range"], False)],
)
def test_members_keep_partitions_only_if_every_assignor_allows_it(strategy: list[str], cooperative: bool) -> None:
    settings = GroupConsumerSettings(group_id="g", partition_assignment_strategy=strategy)
    assert settings.cooperative is cooperative


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"group_id": ""}, "group.id is empty"),
        ({"heartbeat_interval_ms": 45_000}, "heartbeat.interval.ms 45000 must be lower than session.timeout.ms 45000"),
        ({"partition_assignment_strategy": ["sticky"]}, "partition.assignment.strategy: 'sticky' is none of"),
        ({"partition_assignment_strategy": []}, "partition.assignment.strategy is empty"),
    ],
)
def test_values_that_cannot_be_used_are_named(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigRejected, match=says):
        GroupConsumerSettings(**{"group_id": "g", **fields})
