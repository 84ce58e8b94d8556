"""Configs of topics and brokers: DescribeConfigs and IncrementalAlterConfigs (KIP-339).

Changes may be sent to any node (F13). Only a broker itself knows its own configs, so the request to describe them goes
to that node; its response also proves its identity, on brokers of any version (`routes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, left_ms, only, result_of
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.list_config_resources import ListConfigResourcesRequest


class ConfigResource(NamedTuple):
    """`name` is a topic, a broker id, or "" for the defaults of all brokers."""

    type: ConfigResourceType
    name: str


class ConfigChange(NamedTuple):
    name: str
    value: str | None
    op: AlterConfigOp = AlterConfigOp.SET


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config as DescribeConfigs returns it; `source` and `type` are the protocol's numbers."""

    name: str
    value: str | None
    read_only: bool
    source: int
    sensitive: bool
    type: int
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source == 5


def _request(
    changes: Mapping[ConfigResource, Sequence[ConfigChange]],
    resources: Sequence[ConfigResource],
    *,
    validate_only: bool,
) -> IncrementalAlterConfigsRequest:
    """A request with the changes of `resources`."""
    message_type = IncrementalAlterConfigsRequest
    rows = [
        message_type.AlterConfigsResource(
            resource_type=resource.type,
            resource_name=resource.name,
            configs=[
                message_type.AlterableConfig(name=change.name, config_operation=change.op, value=change.value)
                for change in changes[resource]
            ],
        )
        for resource in resources
    ]
    return message_type(resources=rows, validate_only=validate_only)


class ConfigAdmin(AdminCall):
    async def describe_configs(
        self, resource: ConfigResource, keys: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> dict[str, ConfigEntry]:
        """Configs by name, all without `keys`; KafkaError when the resource is rejected."""
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configuration_keys=None if keys is None else list(keys),
                )
            ],
            include_documentation=False,
        )
        deadline = self.client.deadline(timeout_ms)
        if resource.type == ConfigResourceType.BROKER and resource.name.isdigit():
            (node_id,) = await self._known_nodes([int(resource.name)], deadline)
            response = await self.client.request(node_id, request, timeout_ms=left_ms(deadline))
        else:
            response = await self.client.request_any(request, timeout_ms=left_ms(deadline))
        (row,) = response.results
        result_of(resource.name, row.error_code, row.error_message).raise_for_error()
        return {
            entry.name: ConfigEntry(
                entry.name,
                entry.value,
                entry.read_only,
                entry.config_source,
                entry.is_sensitive,
                entry.config_type,
                entry.documentation,
            )
            for entry in row.configs
        }

    async def list_config_resources(
        self, types: Sequence[ConfigResourceType] = (), *, timeout_ms: float | None = None
    ) -> list[ConfigResource]:
        """The resources of these types that may have configs, of all types when none are named (KIP-1142). A broker
        before Kafka 4.1 knows only CLIENT_METRICS."""
        request = ListConfigResourcesRequest(resource_types=[int(type_) for type_ in types])
        response = await self._ask(request, timeout_ms)
        known = set(ConfigResourceType)
        return [
            ConfigResource(ConfigResourceType(row.resource_type), row.resource_name)
            for row in response.config_resources
            if row.resource_type in known
        ]

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[str, AdminResult]:
        """Apply changes, all of a resource or none; results by resource name. Changes of a broker that is up go to
        that broker, because only it can validate those of its listeners; all other changes may go to any node."""

        async def attempt(left: list[ConfigResource], left_ms: float) -> list[AdminResult]:
            deadline = self.client.deadline(left_ms)
            results: list[AdminResult] = []
            for node_id, resources in (await self._by_node(left, deadline)).items():
                request = _request(changes, resources, validate_only=validate_only)
                response = await self._ask_node(node_id, request, deadline)
                results += [
                    result_of(row.resource_name, row.error_code, row.error_message) for row in response.responses
                ]
            return results

        return await self._each(list(changes), attempt, lambda resource: resource.name, timeout_ms)

    async def cut_off(
        self, resource: ConfigResource, changes: Sequence[ConfigChange], *, timeout_ms: float | None = None
    ) -> list[str]:
        """The warnings of the brokers concerned about open connections that the changes would cut off: changes of one
        broker's configs, or of the defaults of all brokers. Nothing is changed. Other vendors' brokers return no
        warning, and neither does a broker that rejects the changes: `alter_configs` returns its error."""
        deadline = self.client.deadline(timeout_ms)
        await self.client.some_node(deadline, set())
        warnings: list[str] = []
        for node_id in sorted(self.client.view.nodes):
            if resource.name in ("", str(node_id)):
                request = _request({resource: changes}, [resource], validate_only=True)
                (row,) = (await self._ask_node(node_id, request, deadline)).responses
                if row.error_code == Error.NONE and row.error_message:
                    warnings.append(row.error_message)
        return warnings

    async def _by_node(
        self, resources: Sequence[ConfigResource], deadline: float
    ) -> dict[int | None, list[ConfigResource]]:
        """Resources by the node that the request goes to, None for any node."""
        by_node: dict[int | None, list[ConfigResource]] = {}
        for resource in resources:
            node_id = None
            if resource.type == ConfigResourceType.BROKER and resource.name.isdigit():
                await self.client.some_node(deadline, set())  # now the view has the nodes
                node_id = int(resource.name) if int(resource.name) in self.client.view.nodes else None
            by_node.setdefault(node_id, []).append(resource)
        return by_node

    async def _ask_node(self, node_id: int | None, request: Any, deadline: float) -> Any:
        if node_id is None:
            return await self.client.request_any(request, timeout_ms=left_ms(deadline))
        return await self.client.request(node_id, request, timeout_ms=left_ms(deadline))

    async def set_topic_configs(
        self, topic: str, configs: Mapping[str, str | None], *, timeout_ms: float | None = None
    ) -> None:
        """Set configs of a topic; None restores the default. KafkaError when the change was rejected."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        changes = [
            ConfigChange(name, value, AlterConfigOp.DELETE if value is None else AlterConfigOp.SET)
            for name, value in configs.items()
        ]
        only(await self.alter_configs({resource: changes}, timeout_ms=timeout_ms), topic)
