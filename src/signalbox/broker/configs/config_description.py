"""The source of a config value: overrides before broker-wide settings before defaults (KIP-226's sources).

source                     number
topic's own value          1  (DYNAMIC_TOPIC_CONFIG)
this broker, changed live  2  (DYNAMIC_BROKER_CONFIG)
all brokers, changed live  3  (DYNAMIC_DEFAULT_BROKER_CONFIG)
server.properties          4  (STATIC_BROKER_CONFIG)
the table's default        5  (DEFAULT_CONFIG)
a logger's level           6  (DYNAMIC_BROKER_LOGGER_CONFIG)
a subscription's own value 7  (CLIENT_METRICS_CONFIG)
a group's own value        8  (GROUP_CONFIG)

As in Kafka, a default that is null is no synonym, and of the keys that can replace another (log.retention.hours) only
those after the key itself are listed. A stored key without a row is described without its value: it may be a secret of
a plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile

from signalbox.broker.configs.kafka_dynamic_configs import KAFKA_DYNAMIC_CONFIGS
from signalbox.common.config.client_metrics_config import CLIENT_METRICS_CONFIG
from signalbox.common.config.config_table import (
    ConfigRow,
    ConfigTable,
    ConfigType,
    Dynamic,
    ListenerKey,
    format_value,
    read_listener_key,
)
from signalbox.common.config.group_config import GROUP_CONFIG, INTERNAL_GROUP_CONFIGS
from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.effective_config import ConfigSource
from signalbox.metadata.entries.entity_config import client_metrics_entity, group_entity
from signalbox.storage.config_rows import in_milliseconds, substitute_keys

Synonym = tuple[str, str | None, int]
_Level = tuple[ConfigSource, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One config of a DescribeConfigs response; `synonyms` in order of precedence, the effective one first."""

    name: str
    value: str | None
    source: ConfigSource
    type: ConfigType | None  # None: returned as UNKNOWN
    read_only: bool
    sensitive: bool
    doc: str
    synonyms: list[Synonym]


class ConfigDescription:
    """Describes the configs of topics, subscriptions and of this broker. `static` is the content of
    server.properties."""

    def __init__(
        self, node_id: int, table: ConfigTable, static: Mapping[str, str], repository: ConfigRepository
    ) -> None:
        self._node_id = node_id
        self._table = table
        self._static = _with_both_ids(static)
        self._repository = repository

    def topic(self, topic: str) -> list[DescribedConfig]:
        own = self._repository.topic_config(topic)
        described = []
        for row in TOPIC_CONFIG:
            synonyms: list[Synonym] = []
            if row.name in own:
                synonyms.append((row.name, own[row.name], ConfigSource.DYNAMIC_TOPIC_CONFIG))
            if row.synonym is not None:
                synonyms += self._topic_default_synonyms(row.synonym, row)
            line = _described(row, synonyms, read_only=False)
            described.append(replace(line, value=_in_topic_units(row, synonyms[0])) if synonyms else line)
        return described

    def broker(self) -> list[DescribedConfig]:
        """Every key of the table, then the keys of single listeners that are set, then other stored keys."""
        described = [
            _described(row, self._named_synonyms(row), read_only=row.dynamic is Dynamic.READ_ONLY)
            for row in self._table
        ]
        described += [self._of_listener(name, key) for name, key in self._listener_keys(self._levels())]
        return described + self._without_row(self._levels()[:2])

    def broker_defaults(self) -> list[DescribedConfig]:
        """The cluster-wide dynamic defaults: only those that are set."""
        overrides = self._repository.broker_default_config()
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        rows = {row.name: row for row in self._table if row.dynamic is not Dynamic.READ_ONLY}
        rows |= {name: replace(key.row, name=name) for name, key in self._listener_keys([(source, overrides)])}
        described = [
            _described(row, [(name, overrides[name], source)], False) for name, row in rows.items() if name in overrides
        ]
        stored = self._without_row([(source, overrides)])
        return described + [replace(line, synonyms=line.synonyms[:1]) for line in stored]

    def client_metrics(self, subscription: str) -> list[DescribedConfig]:
        """Every key of a subscription to client metrics, whether or not the subscription exists."""
        own = self._repository.entity(client_metrics_entity(subscription))
        return _of_entity(CLIENT_METRICS_CONFIG, own, ConfigSource.CLIENT_METRICS_CONFIG)

    def group(self, group: str) -> list[DescribedConfig]:
        """Every key of a group, whether or not the group exists. The broker keys of the defaults are Kafka's."""
        own = self._repository.entity(group_entity(group))
        described = []
        for line in _of_entity(GROUP_CONFIG, own, ConfigSource.GROUP_CONFIG):
            row = GROUP_CONFIG[line.name]
            default = (row.synonym or row.name, format_value(row.default), ConfigSource.DEFAULT_CONFIG)
            line = replace(line, synonyms=[*line.synonyms, default])
            if line.name in own or line.name not in INTERNAL_GROUP_CONFIGS:
                described.append(line)
        return described

    def _listener_keys(self, levels: list[_Level]) -> list[tuple[str, ListenerKey]]:
        names = sorted({name for _, values in levels for name in values})
        listener_keys = ((name, read_listener_key(name, self._table)) for name in names)
        return [(name, key) for name, key in listener_keys if key is not None]

    def _without_row(self, levels: list[_Level]) -> list[DescribedConfig]:
        """Stored keys without a row in the table: keys that only Kafka has, and keys unknown to both."""
        described = []
        for name in sorted({name for _, values in levels for name in values}):
            if name in self._table or read_listener_key(name, self._table) is not None:
                continue
            synonyms: list[Synonym] = [(name, values[name], source) for source, values in levels if name in values]
            row = KAFKA_DYNAMIC_CONFIGS.get(name)
            if row is not None:
                synonyms.append((name, format_value(row.default), ConfigSource.DEFAULT_CONFIG))
                described.append(_described(row, synonyms, read_only=False))
            else:
                described.append(_unknown(name, synonyms))
        return described

    def _of_listener(self, name: str, key: ListenerKey) -> DescribedConfig:
        synonyms: list[Synonym] = [
            (name, values[name], source)
            for source, values in self._levels()
            if name in values
            and (key.row.per_listener is not Dynamic.READ_ONLY or source is ConfigSource.STATIC_BROKER_CONFIG)
        ]
        # Without a value of its own the listener has the value of the key without the listener prefix.
        synonyms += self._broker_synonyms(key.row.name, key.row)
        return _described(replace(key.row, name=name), synonyms, key.row.per_listener is Dynamic.READ_ONLY)

    def _levels(self) -> list[_Level]:
        """The sources where a broker key can be set, highest precedence first."""
        return [
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self._repository.broker_config(self._node_id)),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self._repository.broker_default_config()),
            (ConfigSource.STATIC_BROKER_CONFIG, self._static),
        ]

    def _topic_default_synonyms(self, name: str, row: ConfigRow) -> list[Synonym]:
        """Synonyms of the broker key of a topic config and of the keys that can replace it; empty when `name` itself
        has none and the others are all defaults."""
        synonyms = self._broker_synonyms(name, row)
        for other, _ in substitute_keys(name):
            synonyms += self._broker_synonyms(other, self._table[other])
        is_set = any(source is not ConfigSource.DEFAULT_CONFIG for _, _, source in synonyms)
        return synonyms if is_set or (synonyms and synonyms[0][0] == name) else []

    def _named_synonyms(self, row: ConfigRow) -> list[Synonym]:
        """Synonyms of a broker key, followed by those of the keys that can replace it."""
        synonyms = self._topic_default_synonyms(row.name, row)
        return list(dropwhile(lambda synonym: synonym[0] != row.name, synonyms))

    def _broker_synonyms(self, name: str, row: ConfigRow) -> list[Synonym]:
        synonyms: list[Synonym] = []
        broker_row = self._table.get(name)
        changes = broker_row is not None and broker_row.dynamic is not Dynamic.READ_ONLY
        for source, values in self._levels():
            # A stored dynamic value of a read-only key is ignored.
            if name in values and (changes or source is ConfigSource.STATIC_BROKER_CONFIG):
                synonyms.append((name, values[name], source))
        default = broker_row.default if broker_row is not None else row.default
        if default is not None:
            synonyms.append((name, format_value(default), ConfigSource.DEFAULT_CONFIG))
        return synonyms


def _of_entity(table: ConfigTable, own: Mapping[str, str], source: ConfigSource) -> list[DescribedConfig]:
    described = []
    for row in table:
        levels: list[Synonym] = [(row.name, format_value(row.default), ConfigSource.DEFAULT_CONFIG)]
        if row.name in own:
            levels.insert(0, (row.name, own[row.name], source))
        line = _described(row, levels, read_only=False)
        described.append(replace(line, synonyms=line.synonyms[:-1]))  # the default is no synonym here
    return described


def described_loggers(levels: Mapping[str, str]) -> list[DescribedConfig]:
    """Loggers with their levels."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return [DescribedConfig(name, level, source, None, False, False, "", []) for name, level in levels.items()]


def _with_both_ids(static: Mapping[str, str]) -> Mapping[str, str]:
    """broker.id and node.id are one setting: as in Kafka, either sets both."""
    node_id = static.get("node.id", static.get("broker.id"))
    return static if node_id is None else {"broker.id": node_id, "node.id": node_id, **static}


def _unknown(name: str, synonyms: list[Synonym]) -> DescribedConfig:
    """As in Kafka, a key of an unknown type is sensitive and read-only."""
    hidden: list[Synonym] = [(key, None, source) for key, _, source in synonyms]
    return DescribedConfig(name, None, ConfigSource(synonyms[0][2]), None, True, True, "", hidden)


def _in_topic_units(row: ConfigRow, winner: Synonym) -> str | None:
    """The value in the topic config's unit: hours and minutes of a replacing key become milliseconds."""
    name, value, _ = winner
    unit_ms = dict(substitute_keys(row.synonym or "")).get(name)
    return value if unit_ms is None or value is None else str(in_milliseconds(int(value), unit_ms))


def _described(row: ConfigRow, synonyms: list[Synonym], read_only: bool) -> DescribedConfig:
    if row.sensitive:
        synonyms = [(name, None, source) for name, _, source in synonyms]
    default = (row.name, None if row.sensitive else format_value(row.default), ConfigSource.DEFAULT_CONFIG)
    _, value, source = synonyms[0] if synonyms else default
    return DescribedConfig(
        name=row.name,
        value=value,
        source=ConfigSource(source),
        type=row.type,
        read_only=read_only,
        sensitive=row.sensitive,
        doc=row.doc,
        synonyms=synonyms,
    )
