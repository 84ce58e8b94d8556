"""Settings of topics that the broker creates on its own: partitions, replication factor and configs of the topics of
offsets, of transactions and of the audit trail, from their config keys."""

from __future__ import annotations

from signalbox.broker.topics.topic_creation import InternalTopicSettings, TopicCreationSettings
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from signalbox.configuration.configuration import NodeConfig
from signalbox.coordinator.config_rows import offsets_topic_configs, transactions_topic_configs

_AUDIT_SEGMENT_BYTES = 67_108_864
_SMALLEST_AUDIT_SEGMENT_BYTES = 1_048_576


def creation_settings(config: NodeConfig) -> TopicCreationSettings:
    """The settings by topic name, and the request timeout as the deadline of a creation."""
    offsets = InternalTopicSettings(
        config["offsets.topic.num.partitions"],
        config["offsets.topic.replication.factor"],
        offsets_topic_configs(config["offsets.topic.segment.bytes"]),
    )
    transactions = InternalTopicSettings(
        config["transaction.state.log.num.partitions"],
        config["transaction.state.log.replication.factor"],
        transactions_topic_configs(
            config["transaction.state.log.min.isr"], config["transaction.state.log.segment.bytes"]
        ),
    )
    audit = InternalTopicSettings(
        config["signalbox.audit.topic.partitions"],
        config["signalbox.audit.topic.replication.factor"],
        audit_topic_configs(
            config["signalbox.audit.topic.retention.ms"], config["signalbox.audit.topic.retention.bytes"]
        ),
    )
    internal_topics = {OFFSETS_TOPIC: offsets, TRANSACTIONS_TOPIC: transactions, AUDIT_TOPIC: audit}
    return TopicCreationSettings(internal_topics, config["request.timeout.ms"])


def audit_topic_configs(retention_ms: int, retention_bytes: int) -> dict[str, str]:
    """Configs of a new audit topic. Retention deletes whole segments, but never the newest: with small segments the
    topic exceeds its limit by one segment at most."""
    configs = {"retention.ms": str(retention_ms)}
    if retention_bytes >= 0:
        segment_bytes = min(_AUDIT_SEGMENT_BYTES, max(_SMALLEST_AUDIT_SEGMENT_BYTES, retention_bytes // 4))
        configs |= {"retention.bytes": str(retention_bytes), "segment.bytes": str(segment_bytes)}
    return configs
