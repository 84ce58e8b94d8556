"""Topic configs for storage and replication: a topic's own values over the broker's as they stand now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.common.config_table import Value
from signalbox.common.topic_config import TOPIC_CONFIG
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entity_config import client_metrics_entity
from signalbox.replication.ports import TopicSettings
from signalbox.storage.config_rows import topic_defaults
from signalbox.storage.log_config import LogConfig
from signalbox.wiring.dynamic_broker_config import DynamicBrokerConfig


class TopicConfigView:
    """Asked for every partition of a LeaderAndIsr: the broker's defaults are worked out once for all of them."""

    def __init__(self, repository: ConfigRepository, broker: DynamicBrokerConfig) -> None:
        self._repository = repository
        self._broker = broker
        self._seen: Mapping[str, Value] = {}
        self._defaults: Mapping[str, Any] = {}

    def log_config(self, topic: str) -> LogConfig:
        return LogConfig.from_topic_config(self._repository.topic_config(topic), self._broker_defaults())

    def settings(self, topic: str) -> TopicSettings:
        own = self._repository.topic_config(topic)
        row = TOPIC_CONFIG["min.insync.replicas"]
        if row.name in own:
            min_insync_replicas: Any = row.parse(own[row.name])
        else:
            min_insync_replicas = self._broker_defaults().get(row.synonym or "", row.default)
        return TopicSettings(min_insync_replicas=min_insync_replicas, deletes_records=self.log_config(topic).deletes)

    def _broker_defaults(self) -> Mapping[str, Any]:
        values = self._broker.values
        if values is not self._seen:
            self._seen, self._defaults = values, topic_defaults(values)
        return self._defaults


class ConfigValuesView:
    """The same repository in the broker's words (`broker/ports.ConfigValues`)."""

    def __init__(self, repository: ConfigRepository) -> None:
        self._repository = repository

    def topic_overrides(self, topic: str) -> Mapping[str, str]:
        return self._repository.topic_config(topic)

    def broker_overrides(self, broker_id: int) -> Mapping[str, str]:
        return self._repository.broker_config(broker_id)

    def broker_default_overrides(self) -> Mapping[str, str]:
        return self._repository.broker_default_config()

    def client_metrics_overrides(self, subscription: str) -> Mapping[str, str]:
        return self._repository.entity(client_metrics_entity(subscription))
