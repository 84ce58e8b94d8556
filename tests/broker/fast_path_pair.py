"""The request paths of two brokers over equal storage, one with the fast path before its router, one without. Both must
return the same bytes for the same requests, and have equal logs afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.fast_path.fast_api_versions import FastApiVersions
from signalbox.broker.fast_path.fast_fetch import FastFetch
from signalbox.broker.fast_path.fast_path import FastPath
from signalbox.broker.fast_path.fast_produce import FastProduce
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.handlers.records.fetch import FetchHandler
from signalbox.broker.handlers.records.produce import ProduceHandler
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.metrics.request_metrics import RequestMetrics
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.router import Router
from signalbox.broker.routes import ROUTES, Route
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.broker.routing.misroutes import MisrouteLog
from signalbox.common.audit_event import AuditEvent
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.file_slice import FileSlice
from signalbox.common.metrics import NullMetrics
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import MetadataImage
from signalbox.network.connection import Connection, InboundRequest
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_request_header
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.request_context import RequestContext
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.replication.memory_cluster import TOPIC, TOPIC_ID, MemoryCluster, bytes_of

PARTITIONS = 9


class SwitchedAuthorizer:
    """Allows everything, or nothing."""

    def __init__(self) -> None:
        self.allows = True
        self.stamp = 0

    def switch(self) -> None:
        self.allows = not self.allows
        self.stamp += 1

    def authorize(self, context: RequestContext, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        return self.allows

    def authorize_any(self, context: RequestContext, operation: AclOperation, kind: ResourceType) -> bool:
        return self.allows


class NoController:
    is_active = False


class Channel:
    """The attribute of a connection's channel that the fast path reads."""

    active_at = 0.0


class PairConnection:
    """A connection that stores its responses; `None`: no response, text: the reason of a close."""

    def __init__(self, side: PairSide, number: int) -> None:
        self.request_templates: object = None
        self.channel = Channel()
        self.context = RequestContext(
            f"connection-{number}", "CLIENT", SecurityProtocol.PLAINTEXT, "127.0.0.1", b"\x7f\0\0\1"
        )
        self.answers: list[bytes | str | None] = []
        self._side = side

    def serves(self, api_key: int, api_version: int) -> bool:
        row = API_TABLE[api_key]
        return row.min_version <= api_version <= row.max_version

    def defer(self) -> None:
        """Does nothing: the tests send no further request before the response, and run the cluster after each."""

    def respond(self, chunks: Sequence[Any]) -> None:
        self.answers.append(b"".join(bytes_of(chunk) for chunk in chunks))

    def respond_framed(self, frame: bytes) -> None:
        assert int.from_bytes(frame[:4]) == len(frame) - 4
        self.answers.append(frame[4:])

    def respond_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        self.respond_framed(head + records.read() + tail)

    def respond_nothing(self) -> None:
        self.answers.append(None)

    def close(self, reason: str) -> None:
        self.answers.append(reason)


class PairRequest:
    """The request as the router receives it."""

    def __init__(self, connection: PairConnection, frame: memoryview, received_at: float) -> None:
        self.header, self.body_offset = decode_request_header(frame)
        self.frame = frame
        self.context = connection.context
        self.received_at = received_at
        self.respond = connection.respond
        self.respond_nothing = connection.respond_nothing
        self.close_connection = connection.close
        self.reject = connection.close


class RecordingAudit:
    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)


class PairSide:
    """One broker."""

    def __init__(self, folder: Path, *, fast: bool) -> None:
        self.cluster = MemoryCluster(folder, [1])
        self.cluster.create([1], PARTITIONS)
        self.cluster.run()
        self.broker = self.cluster.brokers[1]
        self.cache = MetadataCache()
        self.authorizer = SwitchedAuthorizer()
        self.audit = RecordingAudit()
        self.metrics = RequestMetrics(MetricRegistry())
        self.registry = self.metrics._metrics
        clock = self.cluster.clock
        self.rollups = AuditRollups(self.audit, clock)
        replicas = self.broker.manager
        produce = ProduceHandler(replicas, self.cache, self.authorizer)
        misroutes = MisrouteLog(MetricRegistry(), self.audit, clock)
        advertised = AdvertisedVersions(None, False)
        versions = ApiVersionsHandler(advertised, ("cluster", 1), misroutes, self.cache, ClientSoftware(NullMetrics()))
        handlers: dict[ApiKey, Any] = {
            ApiKey.PRODUCE: produce,
            ApiKey.FETCH: FetchHandler(replicas.fetches, self.cache, self.authorizer, NO_THROTTLING),
            ApiKey.API_VERSIONS: versions,
        }
        observer = AuditingObserver(self.metrics, self.rollups, self.audit)
        self.router = Router(NoController(), None, observer, clock, ImmediateScheduler())  # type: ignore[arg-type]
        self.router.install(
            {row.api_key: Route(row, handlers[row.api_key]) for row in ROUTES if row.api_key in handlers}, NO_THROTTLING
        )
        self.fast_path: FastPath | None = None
        if fast:
            factories: dict[ApiKey, Any] = {
                ApiKey.PRODUCE: FastProduce(replicas, self.cache, self.authorizer, produce, clock),
                ApiKey.FETCH: FastFetch(replicas, self.cache, self.authorizer, clock),
                ApiKey.API_VERSIONS: FastApiVersions(versions, clock),
            }
            self.fast_path = FastPath(factories, self.metrics, self.rollups)
        self.hits = 0
        self.connections = [PairConnection(self, number) for number in range(2)]
        self.know_topic()

    def know_topic(self) -> None:
        """A new image, equal to the first one."""
        self.cache.image = MetadataImage({}, {}, {TOPIC_ID: TOPIC})

    def forget_topic(self) -> None:
        self.cache.image = MetadataImage({}, {}, {})

    def send(self, frame: bytes, connection: int = 0) -> list[bytes | str | None]:
        """The responses so far, after `frame` is processed, and after every deadline."""
        peer = self.connections[connection]
        view = memoryview(bytearray(frame))
        before = len(peer.answers)
        if self.fast_path is not None and self.fast_path.try_frame(cast(Connection, peer), view):
            self.hits += 1
            view[:] = bytes(len(view))  # the data loop reuses its buffer at once
        else:
            self.router.submit(cast(InboundRequest, PairRequest(peer, view, self.cluster.clock.monotonic())))
        self.cluster.run()
        if len(peer.answers) == before:
            self.cluster.advance(1_000)
        return peer.answers[before:]

    def recorded(self) -> list[tuple[Any, ...]]:
        """Counts of the metrics, and of the roll-ups."""
        numbers = [
            (sample.name.name, sample.tags, sample.value)
            for sample in self.registry.samples()  # type: ignore[attr-defined]
            if not sample.name.name.startswith("TotalTime") and sample.name.name != "RequestQueueTimeMs"
        ]
        self.rollups.flush()
        rows = [
            (event.connection_id, event.api, event.count, event.error_count, event.request_bytes, event.response_bytes)
            for event in self.audit.events
        ]
        return sorted(numbers) + sorted(rows)

    def logs(self) -> list[bytes]:
        return [self.broker.content(log.topic_partition.partition) for log in self.broker.logs]

    def close(self) -> None:
        self.broker.manager.close()
        self.broker.logs.close()
