"""Requests as a broker receives them: the image of a small cluster, principals with ACLs, and calls of a handler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from signalbox.broker.api_request import ApiRequest, Handler, settled
from signalbox.broker.error_responses import failure
from signalbox.common.audit_event import AuditEvent
from signalbox.common.clock import ManualClock
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.file_slice import FileSlice
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.headers import RequestHeader, encode_request_header
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest as Update
from signalbox.security.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.acl_view import AclIndex
from signalbox.security.authorizer import AllowAllAuthorizer
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext

ALLOW_ALL = AllowAllAuthorizer()
PORTS = {"CLIENT": 9000, "REPLICATION": 9100, "CONTROL": 9200}


def topic_id(topic: str) -> bytes:
    """The id of a topic of the test cluster."""
    return topic.encode().ljust(16, b"\1")[:16]


def update(
    brokers: Mapping[int, Iterable[str]], topics: Mapping[str, Mapping[int, tuple[int, list[int]]]] | None = None
) -> Update:
    """An update from the controller: brokers with their listeners, topics as partition → (leader, replicas). A topic
    without partitions has only a name."""
    live = [
        Update.UpdateMetadataBroker(
            id=broker_id,
            rack=f"rack{broker_id}",
            endpoints=[
                Update.UpdateMetadataEndpoint(
                    host=f"{name.lower()}{broker_id}", port=PORTS[name] + broker_id, listener=name, security_protocol=0
                )
                for name in listeners
            ],
        )
        for broker_id, listeners in brokers.items()
    ]
    states = [
        Update.UpdateMetadataTopicState(
            topic_name=topic,
            topic_id=topic_id(topic) if partitions else ZERO_UUID,
            partition_states=[
                Update.UpdateMetadataPartitionState(
                    partition_index=index, leader=leader, leader_epoch=5, isr=replicas, replicas=replicas
                )
                for index, (leader, replicas) in partitions.items()
            ],
        )
        for topic, partitions in (topics or {}).items()
    ]
    return Update(controller_id=1, controller_epoch=1, live_brokers=live, topic_states=states)


def cache_of(
    brokers: Mapping[int, Iterable[str]] | None = None,
    topics: Mapping[str, Mapping[int, tuple[int, list[int]]]] | None = None,
) -> MetadataCache:
    """By default brokers 1 to 3, of which broker 3 lacks CLIENT."""
    cache = MetadataCache()
    everywhere = ("CLIENT", "REPLICATION", "CONTROL")
    cache.apply_update_metadata(update(brokers or {1: everywhere, 2: everywhere, 3: everywhere[1:]}, topics))
    return cache


def context(principal: str = "alice", listener: str = "CLIENT", **more: Any) -> RequestContext:
    """A plaintext connection from 10.0.0.7."""
    fields = {"principal": KafkaPrincipal("User", principal), **more}
    return RequestContext("c-1", listener, SecurityProtocol.PLAINTEXT, "10.0.0.7", b"\x0a\0\0\x07", **fields)


def from_broker() -> RequestContext:
    """A connection of a broker, on the inter-broker listener."""
    return context("alice", "REPLICATION", inter_broker=True)


def request_of(
    body: Any, version: int, who: RequestContext | None = None, *, client_id: str = "test", correlation_id: int = 7
) -> ApiRequest:
    """The request as it arrives: the body is encoded and decoded again at the version."""
    key = ApiKey(body.api_key)
    header = RequestHeader(key, version, correlation_id, client_id)
    encoded = body.encode(version)
    frame = encode_request_header(key, version, correlation_id, client_id) + encoded
    return ApiRequest(header, type(body).decode(encoded, version), who or context(), frame, 0.0)


class LoadedConfigs(ConfigRepository):
    """A repository that has loaded these configs, by entity path."""

    def __init__(self, entities: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(MemoryMetadataStore(SharedEntries()), ManualClock())
        self._configs.update({path: dict(configs) for path, configs in entities.items()})

    async def current(self) -> Mapping[str, Configs]:
        return self.entities()


async def handled(handler: Handler, request: ApiRequest) -> Any:
    """The handler's response, or the response for its error."""
    try:
        response = handler(request)
        return await settled(response)
    except KafkaError as error:
        return failure(request, error.error, str(error))


def response_to(handler: Handler, request: ApiRequest) -> Any:
    """The response that the client reads: the handler's, or that of its error, encoded and decoded at the version."""
    return as_read(request, asyncio.run(handled(handler, request)))


def as_read(request: ApiRequest, response: Any) -> Any:
    """A response message as the client decodes it; any other kind of response unchanged."""
    if not hasattr(response, "encode_chunks"):
        return response
    version = request.header.api_version
    chunks = response.encode_chunks(version)
    payload = b"".join(chunk.read() if isinstance(chunk, FileSlice) else bytes(chunk) for chunk in chunks)
    return API_TABLE[request.header.api_key].response.decode(payload, version)


def acl(*entries: tuple[str, str, str] | tuple[str, str, str, str]) -> AclAuthorizer:
    """An authorizer of (user, OPERATION, resource[, "deny"]); all else is rejected. A resource is a topic,
    `group:name`, `transactional_id:name` or `cluster`."""
    bindings = []
    for user, operation, resource, *deny in entries:
        kind, _, name = resource.rpartition(":")
        if resource == "cluster":
            pattern = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
        else:
            pattern = ResourcePattern(ResourceType[kind.upper() or "TOPIC"], name)
        permission = AclPermission.DENY if deny else AclPermission.ALLOW
        bindings.append(
            AclBinding(pattern, AccessControlEntry(f"User:{user}", "*", AclOperation[operation], permission))
        )
    return AclAuthorizer(AclIndex(bindings))


class RecordingAuditSink:
    """An audit sink that stores its events."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)
