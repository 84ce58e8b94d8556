"""How topics that nobody asked for by name are made: the offsets topic and the audit topic, from their config keys."""

from __future__ import annotations

from signalbox.broker.topic_creation import TopicCreationSettings, TopicShape
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.coordinator.config_rows import offsets_topic_configs
from signalbox.wiring.configuration import NodeConfig
from signalbox.wiring.coordinator_log import OFFSETS_TOPIC


def creation_settings(config: NodeConfig) -> TopicCreationSettings:
    """Shapes by name, and the request timeout as the deadline of a creation."""
    offsets = TopicShape(
        config["offsets.topic.num.partitions"],
        config["offsets.topic.replication.factor"],
        offsets_topic_configs(config["offsets.topic.segment.bytes"]),
    )
    audit = TopicShape(
        config["audit.topic.partitions"],
        config["audit.topic.replication.factor"],
        {"retention.ms": str(config["audit.topic.retention.ms"])},
    )
    return TopicCreationSettings({OFFSETS_TOPIC: offsets, AUDIT_TOPIC: audit}, config["request.timeout.ms"])
