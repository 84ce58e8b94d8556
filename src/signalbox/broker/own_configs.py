"""A broker's word on its own dynamic configs before they are stored: what only it can judge, with its files and its
other keys at hand (KIP-226). The rest (types, which keys change at all) is the controller's.

Kafka's brokers take the configs of no other broker at all. Here any broker takes most of them for any; what is about
listeners must be sent to the broker that it is about, as Kafka's tools and clients do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from signalbox.broker.config_resources import ConfigResourceType
from signalbox.broker.ports import ConfigValues
from signalbox.common.config_table import ConfigTable, Dynamic
from signalbox.common.listener_key import LISTENER_PREFIX
from signalbox.controller.config_control import increments, replacement
from signalbox.controller.config_resource import Resource, ResourceType
from signalbox.metadata.entity_config import Configs
from signalbox.metadata.store.port import StoreError
from signalbox.network.config_rows import NETWORK_CONFIG
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError


class Judge(Protocol):
    def __call__(self, for_all: Configs | None, for_this: Configs | None) -> Awaitable[list[str]]:
        """What would be wrong if these were the configs of all brokers, or of this one (None: they stay)."""
        ...


_FILES = (".ssl.keystore.location", ".ssl.truststore.location")


def _forget(keys: Sequence[str]) -> None:
    """Nobody looks yet."""


async def _not_ready(for_all: Configs | None, for_this: Configs | None) -> list[str]:
    return ["the broker is not ready to judge them"]


class OwnConfigs:
    """`judge` knows the sockets, which come after whoever answers requests. `catch_up` makes `values` know what was
    stored up to now: the last change may not have been heard of yet."""

    def __init__(
        self, node_id: int, table: ConfigTable, values: ConfigValues, catch_up: Callable[[], Awaitable[None]]
    ) -> None:
        self._node_id = node_id
        self._table = table
        self._values = values
        self._catch_up = catch_up
        self.judge: Judge = _not_ready
        self.look_again: Callable[[Sequence[str]], None] = _forget

    async def refusal(self, api_key: ApiKey, resource: Any, validate_only: bool) -> tuple[Error, str] | None:
        """Why a resource of an AlterConfigs or IncrementalAlterConfigs request cannot be; None when it may, or when it
        is not this broker's to judge.

        Files that are named again, as they are named already, may have been replaced: `look_again` is told, since the
        controller stores nothing then and there is no news of it (as Kafka does)."""
        name = resource.resource_name
        if resource.resource_type != ConfigResourceType.BROKER:
            return None
        if not any(self._is_about_listeners(each.name) for each in resource.configs):
            return None
        if name not in ("", str(self._node_id)):
            return (
                Error.INVALID_REQUEST,
                f"Unexpected broker id, expected {self._node_id} or empty string, but received {name}: only broker"
                f" {name} can tell whether it can obey these configs",
            )
        with suppress(StoreError):  # then it cannot be stored either, which the controller will say
            await self._catch_up()
        try:
            configs = self._after(api_key, resource)
        except KafkaError as refused:
            return refused.error, refused.message
        faults = await (self.judge(None, configs) if name else self.judge(configs, None))
        if not faults:
            same_files = self._same_files(resource, configs)
            if same_files and not validate_only:
                self.look_again(same_files)
            return None
        whose = f"BROKER {name}" if name else "BROKER (all)"
        return Error.INVALID_REQUEST, f"Invalid config value for resource {whose}: {'; '.join(faults)}"

    def _same_files(self, resource: Any, configs: Configs) -> list[str]:
        present = self._values.broker_overrides(self._node_id) if resource.resource_name else {}
        return [
            each.name
            for each in resource.configs
            if each.name.endswith(_FILES) and each.name in present and configs.get(each.name) == present[each.name]
        ]

    def _after(self, api_key: ApiKey, resource: Any) -> Configs:
        """The resource's configs as they would be; KafkaError as the controller would say it."""
        name, values = resource.resource_name, self._values
        present = values.broker_overrides(self._node_id) if name else values.broker_default_overrides()
        own = Resource(ResourceType.BROKER, name, f"brokers/{name}", dict(present), self._table)
        change = replacement if api_key == ApiKey.ALTER_CONFIGS else increments
        configs = change(resource.configs)(own)
        own.refuse(configs)
        return configs

    def _is_about_listeners(self, name: str) -> bool:
        row = NETWORK_CONFIG.get(name)
        return name.startswith(LISTENER_PREFIX) or (row is not None and row.dynamic is not Dynamic.READ_ONLY)
