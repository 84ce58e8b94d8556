"""Version ceilings: Kafka's API names, only forwarded APIs, only existing versions."""

from __future__ import annotations

import pytest

from signalbox.broker.config_rows import BROKER_CONFIG
from signalbox.broker.forwarding.version_ceilings import parse_ceilings
from signalbox.protocol.api_table import ApiKey

_KEY = "signalbox.forwarded.api.versions.max"


def test_names_and_versions() -> None:
    assert parse_ceilings([]) == {}
    assert parse_ceilings(["CreateTopics:5", "AlterClientQuotas:0"]) == {
        ApiKey.CREATE_TOPICS: 5,
        ApiKey.ALTER_CLIENT_QUOTAS: 0,
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("CreateTopics", "'CreateTopics': CreateTopics has versions 2 to 7"),
        ("CreateTopics:1", "has versions 2 to 7"),
        ("CreateTopics:8", "has versions 2 to 7"),
        ("CreateTopics:-1", "has versions 2 to 7"),
        ("CreateTopics:five", "has versions 2 to 7"),
        ("CreateTopics:5,CreateTopics:6", "'CreateTopics:6': CreateTopics has a ceiling already"),
        ("Fetch:5", "'Fetch:5' names no API that is forwarded; there are CreateTopics, DeleteTopics"),
        ("createtopics:5", "names no API that is forwarded"),
        (":5", "names no API that is forwarded"),
    ],
)
def test_what_is_none_rejects_the_start_by_name(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        BROKER_CONFIG[_KEY].parse(text)
