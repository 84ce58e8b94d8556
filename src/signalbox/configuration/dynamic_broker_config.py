"""The current values of the broker keys: this broker's dynamic value, else that of all brokers, else the value in
server.properties, else the table's default (KIP-226).

As in Kafka, a stored value that cannot be parsed is ignored, and so is a value of a key that only a restart can change:
another program or an older release may have written it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from signalbox.common.config.config_table import LISTENER_PREFIX, ConfigTable, Dynamic, Value, read_listener_key
from signalbox.common.config.old_keys import current_name, old_name_warning
from signalbox.configuration.check.config_warnings import unknown_key
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.layout import DEFAULT_ENTITY
from signalbox.network.config_rows import NETWORK_CONFIG

log = logging.getLogger(__name__)


class DynamicBrokerConfig:
    """`static` are the typed values of server.properties, with the defaults of `table`."""

    def __init__(
        self, repository: ConfigRepository, node_id: int, table: ConfigTable, static: Mapping[str, Value]
    ) -> None:
        self._repository = repository
        self._node_id = node_id
        self._table = table
        self._static = static
        self._levels: tuple[Configs, Configs] = ({}, {})
        self._values = static
        self._warned: set[str] = set()

    @property
    def values(self) -> Mapping[str, Value]:
        """The value of every key; the same mapping object until a value changes."""
        for_all = self._repository.broker_default_config()
        for_this = self._repository.broker_config(self._node_id)
        # The repository replaces the configs of an entity and never changes them in place: comparing objects is enough.
        if for_all is not self._levels[0] or for_this is not self._levels[1]:
            self._levels = (for_all, for_this)
            self._values = {**self._static, **self._read(for_all), **self._read(for_this)}
        return self._values

    def changed_live(self) -> Configs:
        """The texts of the dynamic keys about listeners that are in effect."""
        return self.live_with()

    def live_with(self, for_all: Configs | None = None, for_this: Configs | None = None) -> Configs:
        """As `changed_live`, if these were the configs of all brokers, or of this one."""
        defaults = self._repository.broker_default_config() if for_all is None else for_all
        own = self._repository.broker_config(self._node_id) if for_this is None else for_this
        # Configs that a release before the prefix `signalbox.` stored have old names.
        stored = {current_name(key): text for key, text in {**defaults, **own}.items()}
        return {
            key: text
            for key, text in stored.items()
            if _changes(key, self._table) and (key.startswith(LISTENER_PREFIX) or key in NETWORK_CONFIG)
        }

    def is_set_by(self, entity_path: str) -> bool:
        """Whether configs of this entity apply to this broker."""
        return entity_path in (f"brokers/{self._node_id}", f"brokers/{DEFAULT_ENTITY}")

    def _read(self, configs: Configs) -> dict[str, Value]:
        read: dict[str, Value] = {}
        for key, text in configs.items():
            row = self._table.get(key)
            if row is None:
                self._warn_of(key)
            if row is None or not _changes(key, self._table):
                continue
            try:
                read[key] = row.parse(text)
            except ValueError as error:
                log.error("Invalid dynamic broker config ignored (key=%s): %s", key, error)
        return read

    def _warn_of(self, key: str) -> None:
        """Warns once of a key without a row: it is stored, as in Kafka, but may be misspelt."""
        if key in self._warned or read_listener_key(key, self._table) is not None:
            return
        self._warned.add(key)
        if current_name(key) != key:
            log.warning("Dynamic broker config has an old name: %s", old_name_warning(key))
            return
        log.warning(
            "Dynamic broker config without effect, it is stored and described: %s", unknown_key(key, self._table)
        )


def _changes(key: str, table: ConfigTable) -> bool:
    """Whether a stored value of a key takes effect: not if only a restart can change the key."""
    of_listener, row = read_listener_key(key, table), table.get(key)
    if of_listener is not None:
        return of_listener.row.per_listener is not Dynamic.READ_ONLY
    return row is not None and row.dynamic is not Dynamic.READ_ONLY and row.per_listener is not Dynamic.PER_BROKER
