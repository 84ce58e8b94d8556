"""Validation of a broker's dynamic configs by that broker, before they are stored: the checks that need its files and
its other keys (KIP-226). The other checks (types, whether a key is dynamic) are the controller's.

Kafka's brokers reject configs of any other broker. Here any broker accepts most configs of any broker; configs of
listeners must be sent to the broker that they belong to, as Kafka's tools and clients do.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from signalbox.common.config.config_table import LISTENER_PREFIX, ConfigTable, Dynamic
from signalbox.controller.entities.config_control import increments, replacement
from signalbox.controller.entities.config_resource import Resource
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.store.port import StoreError
from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError

log = logging.getLogger(__name__)


class Validation(NamedTuple):
    """`faults`: why the configs are invalid. `warnings`: their effect on connections that are open now."""

    faults: Sequence[str] = ()
    warnings: Sequence[str] = ()


class ConfigValidator(Protocol):
    def __call__(self, for_all: Configs | None, for_this: Configs | None) -> Awaitable[Validation]:
        """The result if these were the configs of all brokers, or of this one (None: unchanged)."""
        ...


_FILES = (".ssl.keystore.location", ".ssl.truststore.location")


def _no_revalidation(keys: Sequence[str]) -> None:
    """Default of `revalidate`: does nothing."""


async def _not_ready(for_all: Configs | None, for_this: Configs | None) -> Validation:
    return Validation(faults=["the broker is still starting"])


class BrokerConfigValidator:
    """`validator` is set later, since it needs the sockets, which are created after the request handlers. Before
    a validation the repository catches up with the store: this broker may not have received the last change yet."""

    def __init__(self, node_id: int, table: ConfigTable, repository: ConfigRepository) -> None:
        self._node_id = node_id
        self._table = table
        self._repository = repository
        self.validator: ConfigValidator = _not_ready
        self.revalidate: Callable[[Sequence[str]], None] = _no_revalidation

    async def rejection(self, api_key: ApiKey, resource: Any, validate_only: bool) -> tuple[Error, str] | None:
        """The error of a resource of an AlterConfigs or IncrementalAlterConfigs request; None when the resource is
        valid or this broker does not validate it. NONE with a message is for requests with validate_only: the configs
        are valid, and the message says which open connections they would close (`signalbox config set` reads it).

        A request may set the path of a file to its present value because the file was replaced. The controller stores
        nothing then and no change is observed, so `revalidate` is called with these keys (as Kafka does)."""
        name = resource.resource_name
        if resource.resource_type != ConfigResourceType.BROKER:
            return None
        if not any(self._is_about_listeners(config.name) for config in resource.configs):
            return None
        if name not in ("", str(self._node_id)):
            return (
                Error.INVALID_REQUEST,
                f"Unexpected broker id, expected {self._node_id} or empty string, but received {name}: send the"
                f" request to broker {name}, which validates them",
            )
        with suppress(StoreError):  # then the controller cannot store the configs either, and returns the error
            await self._repository.catch_up()
        try:
            configs = self._after(api_key, resource)
        except KafkaError as rejected:
            return rejected.error, rejected.message
        faults, warnings = await (self.validator(None, configs) if name else self.validator(configs, None))
        if not faults:
            if validate_only:
                return (Error.NONE, "; ".join(warnings)) if warnings else None
            for warning in warnings:
                log.warning("Dynamic configs of listeners accepted with a warning: %s", warning)
            same_files = self._same_files(resource, configs)
            if same_files:
                self.revalidate(same_files)
            return None
        resource_text = f"BROKER {name}" if name else "BROKER (all)"
        return Error.INVALID_REQUEST, f"Invalid config value for resource {resource_text}: {'; '.join(faults)}"

    def _same_files(self, resource: Any, configs: Configs) -> list[str]:
        present = self._repository.broker_config(self._node_id) if resource.resource_name else {}
        return [
            config.name
            for config in resource.configs
            if config.name.endswith(_FILES)
            and config.name in present
            and configs.get(config.name) == present[config.name]
        ]

    def _after(self, api_key: ApiKey, resource: Any) -> Configs:
        """The resource's configs after the change; KafkaError as the controller would return it."""
        name, repository = resource.resource_name, self._repository
        present = repository.broker_config(self._node_id) if name else repository.broker_default_config()
        own = Resource(ConfigResourceType.BROKER, name, f"brokers/{name}", dict(present), self._table)
        change = replacement if api_key == ApiKey.ALTER_CONFIGS else increments
        configs = change(resource.configs)(own)
        own.reject(configs)
        return configs

    def _is_about_listeners(self, name: str) -> bool:
        row = NETWORK_CONFIG.get(name)
        return name.startswith(LISTENER_PREFIX) or (row is not None and row.dynamic is not Dynamic.READ_ONLY)
