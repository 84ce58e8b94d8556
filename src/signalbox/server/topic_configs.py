"""Topic configs for storage and replication: a topic's own values, and the broker's current values as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.common.config.config_table import Value
from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.replication.ports import TopicSettings
from signalbox.storage.config_rows import topic_defaults
from signalbox.storage.log_config import LogConfig


class TopicConfigView:
    """Used for every partition of a LeaderAndIsr: the broker's defaults are computed once for all of them."""

    def __init__(self, repository: ConfigRepository, broker: DynamicBrokerConfig) -> None:
        self._repository = repository
        self._broker = broker
        self._seen: Mapping[str, Value] = {}
        self._defaults: Mapping[str, Any] = {}

    def log_config(self, topic: str) -> LogConfig:
        return LogConfig.from_topic_config(self._repository.topic_config(topic), self._broker_defaults())

    def settings(self, topic: str) -> TopicSettings:
        own, log_config = self._repository.topic_config(topic), self.log_config(topic)
        return TopicSettings(
            min_insync_replicas=self._value(own, "min.insync.replicas"),
            deletes_records=log_config.deletes or not log_config.compacts,  # also with neither
            unclean_leader_election=self._value(own, "unclean.leader.election.enable"),
        )

    def _value(self, own: Mapping[str, str], key: str) -> Any:
        row = TOPIC_CONFIG[key]
        return row.parse(own[key]) if key in own else self._broker_defaults().get(row.synonym or "", row.default)

    def _broker_defaults(self) -> Mapping[str, Any]:
        values = self._broker.values
        if values is not self._seen:
            self._seen, self._defaults = values, topic_defaults(values)
        return self._defaults
