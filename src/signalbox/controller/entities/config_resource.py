"""Resources whose configs can be altered: their type on the wire, their entity in the store, their config table."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.config.client_metrics_config import CLIENT_METRICS_CONFIG, interval_problem, match_problem
from signalbox.common.config.config_table import (
    LISTENER_PREFIX,
    ConfigRow,
    ConfigTable,
    ConfigType,
    Dynamic,
    read_listener_key,
)
from signalbox.common.config.group_config import GROUP_CONFIG, group_config_problem
from signalbox.common.config.topic_config import TOPIC_CONFIG, topic_config_problem
from signalbox.controller.context import BROKER_DEFAULT_ENTITY, ControllerContext
from signalbox.controller.decision import Inputs
from signalbox.controller.store.topic_corruption import rejection
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata.entries.entity_config import Configs, client_metrics_entity, group_entity
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a request that exists and may be altered. `configs` are the present ones."""

    type: ConfigResourceType
    name: str
    entity_path: str
    configs: Configs
    table: ConfigTable

    @property
    def is_broker(self) -> bool:
        return self.type is ConfigResourceType.BROKER

    def is_list(self, config: str) -> bool:
        """Whether APPEND and SUBTRACT are possible."""
        row = self.row(config)
        return row is not None and row.type is ConfigType.LIST

    def default_list(self, config: str) -> list[str]:
        """The value to which APPEND and SUBTRACT apply when the config is not set."""
        row = self.row(config)
        default = row.default if row is not None else None
        return list(default) if isinstance(default, list) else []

    def _parse(self, name: str, row: ConfigRow, value: str) -> None:
        parsed = row.parse(value)
        limits_listener = name.startswith(LISTENER_PREFIX) and row.per_listener is Dynamic.CLUSTER_WIDE
        if self.is_broker and limits_listener and isinstance(parsed, int) and parsed <= 0:
            raise ValueError("no client could connect to that listener")  # as Kafka: a listener's limits are > 0 (1.11)

    def row(self, config: str) -> ConfigRow | None:
        """The row of a config's table; for a key of one listener the row of the key behind its prefix."""
        key = read_listener_key(config, self.table) if self.is_broker else None
        return key.row if key is not None else self.table.get(config)

    def reject(self, configs: Configs) -> None:
        """KafkaError for the first config that cannot have this value on this resource."""
        for name, value in configs.items():
            # Unchanged values are accepted: an older release may have accepted a key that only a restart changes now.
            if self.is_broker and self.configs.get(name) != value:
                reject_static(name, self.table, for_all=not self.name)
            row = self.row(name)
            if row is None:
                if self.is_broker:
                    continue  # Kafka keeps unknown broker keys: plugins read them
                raise KafkaError(*_unknown(self.type, name))
            try:
                self._parse(name, row, value)
            except ValueError as problem:
                shown = "[hidden]" if row.sensitive else value
                raise KafkaError(
                    Error.INVALID_CONFIG, f"Invalid value {shown} for configuration {name}: {problem}"
                ) from problem
        if self.type is ConfigResourceType.CLIENT_METRICS:
            _reject_subscription(configs)
        if self.type is ConfigResourceType.TOPIC and (together := topic_config_problem(configs)):
            raise KafkaError(Error.INVALID_CONFIG, together)
        if self.type is ConfigResourceType.GROUP and (together := group_config_problem(configs)):
            raise KafkaError(Error.INVALID_CONFIG, together)


def _unknown(resource_type: ConfigResourceType, name: str) -> tuple[Error, str]:
    if resource_type is ConfigResourceType.CLIENT_METRICS:
        return Error.INVALID_REQUEST, f"Unknown client metrics configuration: {name}"
    kind = "group" if resource_type is ConfigResourceType.GROUP else "topic"
    return Error.INVALID_CONFIG, f"Unknown {kind} config name: {name}"


def _reject_subscription(configs: Configs) -> None:
    if problem := interval_problem(configs):
        raise KafkaError(Error.INVALID_REQUEST, problem)
    if problem := match_problem(configs):
        raise KafkaError(Error.INVALID_CONFIG, problem)


def reject_static(name: str, table: ConfigTable, for_all: bool) -> None:
    """KafkaError if a broker key cannot change while brokers run, or cannot be set `for_all` brokers at once, or needs
    the prefix of a listener (KIP-226)."""
    key = read_listener_key(name, table)
    row = table.get(name)
    if key is not None:
        change: Dynamic | None = key.row.per_listener
    elif name.startswith(LISTENER_PREFIX):
        change = Dynamic.READ_ONLY
    else:
        change = None if row is None else row.dynamic
        if row is not None and row.per_listener is Dynamic.PER_BROKER and change is Dynamic.PER_BROKER:
            raise KafkaError(
                Error.INVALID_REQUEST,
                "These security configs can be dynamically updated only per-listener using the listener prefix:"
                f" Set({name})",
            )
    if change is Dynamic.READ_ONLY:
        raise KafkaError(Error.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({name})")
    if change is Dynamic.PER_BROKER and for_all:
        raise KafkaError(
            Error.INVALID_REQUEST,
            f"Cannot update these configs at default cluster level, broker id must be specified: Set({name})",
        )


def find_resource(context: ControllerContext, inputs: Inputs, resource_type: int, name: str) -> Resource:
    """The resource of a request; KafkaError if it does not exist or resources of its type cannot be altered."""
    if resource_type == ConfigResourceType.TOPIC:
        if problem := reject_topic_name(name):
            raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, problem)
        if name not in context.topics and name in context.corrupt_topics:
            raise rejection(name, context.corrupt_topics[name])
        if context.usable_topic(name) is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        entity_path, table = f"topics/{name}", TOPIC_CONFIG
    elif resource_type == ConfigResourceType.BROKER:
        entity_path, table = _broker_entity(context, name), inputs.settings.broker_config_table
    elif resource_type == ConfigResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(Error.INVALID_REQUEST, "Subscription name can't be empty")
        entity_path, table = client_metrics_entity(name), CLIENT_METRICS_CONFIG
    elif resource_type == ConfigResourceType.GROUP:
        if not name:
            raise KafkaError(Error.INVALID_REQUEST, "Default group resources are not allowed.")
        entity_path, table = group_entity(name), GROUP_CONFIG
    else:
        raise KafkaError(
            Error.INVALID_REQUEST,
            f"Configs of resource type {resource_type} are not altered here: topics (2), brokers (4), client metrics"
            " (16) and groups (32) are.",
        )
    return Resource(ConfigResourceType(resource_type), name, entity_path, context.configs.get(entity_path, {}), table)


def _broker_entity(context: ControllerContext, name: str) -> str:
    """A broker that is down keeps its configs, and they can be changed; an id that was never used is rejected."""
    if not name:
        return BROKER_DEFAULT_ENTITY
    if not (name.isascii() and name.isdigit()):
        raise KafkaError(Error.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    number = name.lstrip("0") or "0"  # stays text: int() rejects thousands of digits
    entity_path = f"brokers/{number}"
    if entity_path not in context.configs and number not in map(str, (*context.brokers, context.controller_id)):
        raise KafkaError(Error.BROKER_ID_NOT_REGISTERED, f"No node with id {number} found.")
    return entity_path
