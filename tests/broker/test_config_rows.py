"""The broker's config keys: Kafka's defaults where Kafka has the key."""

from __future__ import annotations

import pytest

from signalbox.broker.config_rows import BROKER_CONFIG


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("auto.create.topics.enable", True),
        ("request.timeout.ms", 30_000),
        ("controlled.shutdown.enable", True),
        ("controlled.shutdown.max.retries", 3),
        ("controlled.shutdown.retry.backoff.ms", 5_000),
        ("max.request.partition.size.limit", 2_000),
        ("allow.everyone.if.no.acl.found", False),
        ("signalbox.metrics.http.port", -1),
    ],
)
def test_defaults(key: str, default: object) -> None:
    assert BROKER_CONFIG[key].default == default


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("node.id", "-2", "below"),
        ("node.id", "one", "whole number"),
        ("max.request.partition.size.limit", "0", "below"),
        ("signalbox.audit.topic.replication.factor", "0", "below"),
        ("signalbox.audit.topic.replication.factor", "40000", "not between"),
        ("signalbox.metrics.http.port", "70000", "70000 is not between -1 and 65535"),
        ("signalbox.metrics.http.port", "-2", "not between"),
        ("signalbox.audit.enable", "yes", "neither true nor false"),
    ],
)
def test_wrong_values(key: str, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        BROKER_CONFIG[key].parse(text)


def test_every_row_says_what_it_is() -> None:
    assert [row.name for row in BROKER_CONFIG if not row.doc.endswith(".")] == []
