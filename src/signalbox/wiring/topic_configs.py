"""Topic configs for storage and replication: a topic's own values over the broker's, kept until one changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.common.topic_config import TOPIC_CONFIG
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.replication.ports import TopicSettings
from signalbox.storage.log_config import LogConfig


class TopicConfigView:
    """`broker_values` are the typed values of server.properties by broker key."""

    def __init__(self, repository: ConfigRepository, broker_values: Mapping[str, Any]) -> None:
        self._repository = repository
        self._broker_values = broker_values

    def log_config(self, topic: str) -> LogConfig:
        return LogConfig.from_topic_config(self._repository.topic_config(topic), self._broker_values)

    def settings(self, topic: str) -> TopicSettings:
        own = self._repository.topic_config(topic)
        row = TOPIC_CONFIG["min.insync.replicas"]
        if row.name in own:
            min_insync_replicas: Any = row.parse(own[row.name])
        else:
            min_insync_replicas = self._broker_values.get(row.synonym or "", row.default)
        return TopicSettings(min_insync_replicas=min_insync_replicas, deletes_records=self.log_config(topic).deletes)


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
