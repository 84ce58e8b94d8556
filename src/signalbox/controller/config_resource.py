"""Resources whose configs can be altered: their type on the wire, their entity in the store, the rows they obey."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic
from signalbox.common.topic_config import TOPIC_CONFIG
from signalbox.controller.context import BROKER_DEFAULT_ENTITY, ControllerContext
from signalbox.controller.decision import Inputs
from signalbox.controller.topic_name import refuse_topic_name
from signalbox.metadata.entity_config import Configs
from signalbox.protocol.error_table import Error, KafkaError

# Keys of one listener: the network reads them at start and never again (Kafka lets TLS and limits be changed).
_LISTENER_PREFIX = "listener.name."


class ResourceType(IntEnum):
    """ConfigResource types on the wire."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a request, found and allowed to be altered. `configs` are the present ones."""

    type: ResourceType
    name: str
    entity_path: str
    configs: Configs
    table: ConfigTable

    @property
    def is_broker(self) -> bool:
        return self.type is ResourceType.BROKER

    def is_list(self, config: str) -> bool:
        """Whether APPEND and SUBTRACT make sense."""
        row = self.table.get(config)
        return row is not None and row.type is ConfigType.LIST

    def default_list(self, config: str) -> list[str]:
        """What APPEND and SUBTRACT begin from when the config is not set."""
        default = self.table[config].default
        return list(default) if isinstance(default, list) else []

    def refuse(self, configs: Configs) -> None:
        """KafkaError for the first config that cannot be set so on this resource."""
        for name, value in configs.items():
            row = self.table.get(name)
            # What stays as it is may stay: an older release may have taken what only a restart changes now.
            if self.is_broker and self.configs.get(name) != value:
                self._refuse_static(name, row)
            if row is None:
                if self.is_broker:
                    continue  # Kafka keeps unknown broker keys: plugins read them
                raise KafkaError(Error.INVALID_CONFIG, f"Unknown topic config name: {name}")
            try:
                row.parse(value)
            except ValueError as problem:
                raise KafkaError(
                    Error.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {problem}"
                ) from problem

    def _refuse_static(self, name: str, row: ConfigRow | None) -> None:
        if name.startswith(_LISTENER_PREFIX) or (row is not None and row.dynamic is Dynamic.READ_ONLY):
            raise KafkaError(Error.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({name})")
        if row is not None and row.dynamic is Dynamic.PER_BROKER and not self.name:
            raise KafkaError(
                Error.INVALID_REQUEST, f"Cannot update these configs at default cluster level: Set({name})"
            )


def find_resource(context: ControllerContext, inputs: Inputs, resource_type: int, name: str) -> Resource:
    """The resource of a request; KafkaError when there is none, or it is of a kind that is not altered here."""
    if resource_type == ResourceType.TOPIC:
        if problem := refuse_topic_name(name):
            raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, problem)
        if context.usable_topic(name) is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        entity_path, table = f"topics/{name}", TOPIC_CONFIG
    elif resource_type == ResourceType.BROKER:
        entity_path, table = _broker_entity(context, name), inputs.settings.broker_config_table
    else:
        raise KafkaError(
            Error.INVALID_REQUEST,
            f"Configs of resource type {resource_type} are not altered here: topics (2) and brokers (4) are.",
        )
    return Resource(ResourceType(resource_type), name, entity_path, context.configs.get(entity_path, {}), table)


def _broker_entity(context: ControllerContext, name: str) -> str:
    """A broker that is down may keep and change the configs it has; ids nobody ever had get none."""
    if not name:
        return BROKER_DEFAULT_ENTITY
    if not (name.isascii() and name.isdigit()):
        raise KafkaError(Error.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    number = name.lstrip("0") or "0"  # stays text: int() refuses thousands of digits
    entity_path = f"brokers/{number}"
    if entity_path not in context.configs and number not in map(str, (*context.brokers, context.controller_id)):
        raise KafkaError(Error.BROKER_ID_NOT_REGISTERED, f"No node with id {number} found.")
    return entity_path
