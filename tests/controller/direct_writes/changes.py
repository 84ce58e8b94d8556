"""Requests for changes that brokers below the gate store, and what they caused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.common.clock import SystemClock
from signalbox.controller.decision import Inputs
from signalbox.controller.direct_writes.direct_metadata_writer import DirectMetadataWriter, Patience
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.security.acl import AclOperation, AclPermission, PatternType, ResourceType
from tests.controller.cluster import ControllerNode, inputs

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32


def direct_metadata_writer(
    node: ControllerNode, timeout_ms: int = 10_000, given: Inputs | None = None
) -> DirectMetadataWriter:
    patience = Patience(SystemClock(), timeout_ms, lambda: asyncio.sleep(0))
    return DirectMetadataWriter(node.node_id, node.store, given or inputs(), node.cache, patience)


def setting(kind: int, name: str, **values: str) -> IncrementalAlterConfigsRequest:
    config, resource = (
        IncrementalAlterConfigsRequest.AlterableConfig,
        IncrementalAlterConfigsRequest.AlterConfigsResource,
    )
    configs = [config(name=key.replace("__", "."), config_operation=0, value=value) for key, value in values.items()]
    return IncrementalAlterConfigsRequest(resources=[resource(resource_type=kind, resource_name=name, configs=configs)])


def allowing(*principals: str, name: str = "t") -> CreateAclsRequest:
    return CreateAclsRequest(
        creations=[
            CreateAclsRequest.AclCreation(
                resource_type=ResourceType.TOPIC,
                resource_name=name,
                resource_pattern_type=PatternType.LITERAL,
                principal=principal,
                host="*",
                operation=AclOperation.READ,
                permission_type=AclPermission.ALLOW,
            )
            for principal in principals
        ]
    )


def quota(user: str, rate: float) -> AlterClientQuotasRequest:
    made = AlterClientQuotasRequest
    entity = [made.EntityData(entity_type="user", entity_name=user)]
    return made(entries=[made.EntryData(entity=entity, ops=[made.OpData(key="producer_byte_rate", value=rate)])])


def codes(answer: Any) -> list[Error]:
    [rows] = [getattr(answer, name) for name in ("responses", "results", "entries", "topics") if hasattr(answer, name)]
    return [Error.of(row.error_code) for row in rows]


def knows(node: ControllerNode, entity_path: str, **values: str) -> Callable[[], bool]:
    """Whether the controller's context has these configs."""
    wanted = {key.replace("__", "."): value for key, value in values.items()}

    def look() -> bool:
        context = node.controller.context
        return context is not None and wanted.items() <= context.configs.get(entity_path, {}).items()

    return look
