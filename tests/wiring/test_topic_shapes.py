"""How internal topics are made: from their config keys."""

from __future__ import annotations

from signalbox.broker.topic_creation import TopicShape
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.wiring.topic_shapes import creation_settings
from tests.wiring.settings import config_of


def test_shapes_follow_the_keys() -> None:
    settings = creation_settings(
        config_of(
            offsets__topic__num__partitions="7",
            offsets__topic__replication__factor="2",
            audit__topic__retention__ms="5",
            request__timeout__ms="99",
        )
    )
    offsets = settings.shapes["__consumer_offsets"]
    assert (offsets.partitions, offsets.replication_factor) == (7, 2)
    assert offsets.configs["cleanup.policy"] == "compact"
    assert settings.shapes[AUDIT_TOPIC] == TopicShape(3, 3, {"retention.ms": "5"})
    assert settings.request_timeout_ms == 99
