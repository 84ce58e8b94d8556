"""Partitions, replicas and configs of internal topics: from their config keys."""

from __future__ import annotations

import pytest

from signalbox.broker.topics.topic_creation import InternalTopicSettings
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.configuration.internal_topic_settings import audit_topic_configs, creation_settings
from tests.configuration.settings import config_of


def test_settings_follow_the_keys() -> None:
    settings = creation_settings(
        config_of(
            offsets__topic__num__partitions="7",
            offsets__topic__replication__factor="2",
            signalbox__audit__topic__retention__ms="5",
            request__timeout__ms="99",
        )
    )
    offsets = settings.internal_topics["__consumer_offsets"]
    assert (offsets.partitions, offsets.replication_factor) == (7, 2)
    assert offsets.configs["cleanup.policy"] == "compact"
    assert settings.internal_topics[AUDIT_TOPIC] == InternalTopicSettings(3, 3, audit_topic_configs(5, 268_435_456))
    assert settings.request_timeout_ms == 99


@pytest.mark.parametrize(
    ("retention_bytes", "configs"),
    [
        (-1, {}),
        (268_435_456, {"retention.bytes": "268435456", "segment.bytes": "67108864"}),
        (40_000_000, {"retention.bytes": "40000000", "segment.bytes": "10000000"}),
        (0, {"retention.bytes": "0", "segment.bytes": "1048576"}),
    ],
)
def test_the_audit_topic_is_bounded_by_size(retention_bytes: int, configs: dict[str, str]) -> None:
    assert audit_topic_configs(7, retention_bytes) == {"retention.ms": "7", **configs}


@pytest.mark.spec("F10")
def test_the_transactions_topic_has_its_own_shape() -> None:
    shape = creation_settings(
        config_of(
            transaction__state__log__num__partitions="5",
            transaction__state__log__replication__factor="2",
            transaction__state__log__min__isr="1",
        )
    ).internal_topics["__transaction_state"]
    assert (shape.partitions, shape.replication_factor) == (5, 2)
    assert shape.configs == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
    }
    assert creation_settings(config_of()).internal_topics["__transaction_state"].partitions == 50
