"""Fast path of Fetch, for consumers: one partition without a session (versions 4-18), or an incremental request of a
session for up to eight partitions (7-18).

A read that returns less than min_bytes, or an offset outside of the readable range, takes the generic path, which waits
and returns errors. An incremental request changes its session only if it is answered here
(`replication/fetch/session_fetches`).
"""

from __future__ import annotations

from struct import Struct

from signalbox.broker.authorization.authorization import may
from signalbox.broker.fast_path.fast_path import read_header
from signalbox.broker.fast_path.fetch_template import (
    FetchedPartition,
    FetchTemplate,
    ParsedFetch,
    SessionTemplate,
    parse_fetch,
)
from signalbox.broker.fast_path.request_templates import HasQuota, RequestTemplates, no_client_has_quota
from signalbox.broker.metrics.request_metrics import FastPathStats
from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import no_yield
from signalbox.common.file_slice import FileSlice
from signalbox.common.ids import ZERO_UUID
from signalbox.common.limits import MAX_FAST_PATH_ABORTED_TRANSACTIONS
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.quota_entity import CONSUMER_BYTE_RATE
from signalbox.network.connection import Connection
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.replication.fetch.delayed_fetch import entries_by_topic
from signalbox.replication.fetch.fetch_read import Isolation, read_fast_path
from signalbox.replication.fetch.fetch_session import NO_SESSION, Entry, FetchKey
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_OFFSET = Struct(">q")


class FastFetch:
    """State shared by all connections of the broker; a factory for `ConnectionFetch`."""

    def __init__(
        self,
        replicas: ReplicaManager,
        cache: MetadataCache,
        authorizer: Authorizer,
        clock: Clock,
        has_quota: HasQuota = no_client_has_quota,
    ) -> None:
        self.has_quota = has_quota
        self.replicas = replicas
        self.session_fetches = replicas.session_fetches
        self.cache = cache
        self.authorizer = authorizer
        self.monotonic = clock.monotonic
        self.is_resident = replicas.scheduler.page_reads.is_resident

    def __call__(self, connection: Connection, version: int) -> ConnectionFetch:
        return ConnectionFetch(self, connection, version)


class ConnectionFetch:
    """The Fetch requests of one connection at one version."""

    __slots__ = ("_connection", "_owner", "_templates", "_version", "stats")

    def __init__(self, owner: FastFetch, connection: Connection, version: int) -> None:
        self._owner = owner
        self._connection = connection
        self._version = version
        self._templates: RequestTemplates[FetchTemplate | SessionTemplate] = RequestTemplates()
        self.stats = FastPathStats()

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        owner, templates = self._owner, self._templates
        template = templates.find(frame)
        if template is None:
            self._build_template(frame)
            return False
        if not template.is_current(owner.cache.image, owner.authorizer.stamp):
            templates.forget(template)
            return False
        if isinstance(template, SessionTemplate):
            return self._serve_session(template, frame, correlation_id)
        return self._serve_partition(template, frame, correlation_id)

    def _serve_partition(self, template: FetchTemplate, frame: memoryview, correlation_id: int) -> bool:
        partition = template.partition
        try:
            read = read_fast_path(
                partition,
                _OFFSET.unpack_from(frame, template.offset_at)[0],
                template.max_bytes,
                template.isolation,
                self._owner.is_resident,
            )
        except KafkaError:
            return False  # the generic path gets the same error and returns it
        if read is None:
            return False
        log_slice, aborted = read
        records = log_slice.records
        size = len(records)
        if size < template.min_bytes or isinstance(records, bytes):
            return False  # bytes: the read returned no records
        if len(aborted) > MAX_FAST_PATH_ABORTED_TRANSACTIONS:
            return False
        log, response, connection = partition.log, template.response, self._connection
        assert log is not None
        watermarks = log.high_watermark, log.last_stable_offset, log.log_start_offset
        head, total = response.head(correlation_id, watermarks, size, aborted)
        stats = partition.stats
        stats.fetches += 1
        stats.bytes_out += size
        connection.respond_slice(head, records, response.tail)
        self.stats.add(len(frame), total, self._owner.monotonic() - connection.channel.active_at)
        return True

    def _count(self, frame: memoryview, response_bytes: int) -> None:
        self.stats.add(len(frame), response_bytes, self._owner.monotonic() - self._connection.channel.active_at)

    # -- sessions

    def _serve_session(self, template: SessionTemplate, frame: memoryview, correlation_id: int) -> bool:
        epoch, *offsets = template.variables.unpack_from(frame)

        def may_read(topic: str) -> bool:
            return topic in template.readable_topics or self._authorize(template, topic)

        entries = self._owner.session_fetches.fetch(template.request, epoch, offsets, may_read)
        if entries is None:
            return False
        if len(entries) == 1 and len(entries[0][1].aborted_transactions or ()) <= MAX_FAST_PATH_ABORTED_TRANSACTIONS:
            response = template.response_of(entries[0][0].key, self._version)
            if response is not None:
                self._respond_partition(response, entries[0], correlation_id, frame)
                return True
        with no_yield():  # eight entries at most
            topics = entries_by_topic(entries)
        body = FetchResponse(session_id=template.request.session_id, responses=topics)
        chunks = [
            encode_response_header(ApiKey.FETCH, self._version, correlation_id),
            *body.encode_chunks(self._version),
        ]
        self._connection.respond(chunks)
        self._count(frame, sum(map(len, chunks)))
        return True

    def _authorize(self, template: SessionTemplate, topic: str) -> bool:
        if not may(self._owner.authorizer, self._connection.context, AclOperation.READ, topic):
            return False
        template.readable_topics.add(topic)
        return True

    def _respond_partition(
        self, response: FetchedPartition, entry: Entry, correlation_id: int, frame: memoryview
    ) -> None:
        """Send the response with one partition."""
        data = entry[1]
        records = data.records or b""
        watermarks = data.high_watermark, data.last_stable_offset, data.log_start_offset
        head, total = response.head(correlation_id, watermarks, len(records), data.aborted_transactions or ())
        if isinstance(records, FileSlice):
            self._connection.respond_slice(head, records, response.tail)
        else:
            self._connection.respond_framed(head + bytes(records) + response.tail)
        self._count(frame, total)

    # -- building templates

    def _build_template(self, frame: memoryview) -> None:
        """Build a template from this request, if later requests can be served by it. The generic path serves this
        one."""
        header_and_offset = read_header(frame) if self._templates.should_sample() else None
        if header_and_offset is None:
            return
        header, body_offset = header_and_offset
        if self._owner.has_quota(CONSUMER_BYTE_RATE, self._connection.context.principal, header.client_id):
            return
        parsed = parse_fetch(frame, self._version, body_offset)
        if parsed is None:
            return
        in_session = parsed.request.session_id != NO_SESSION
        template = self._session_template(parsed) if in_session else self._partition_template(parsed)
        if template is not None:
            self.stats.set_sample(header, self._connection.context)
            self._templates.add(template)

    def _partition_template(self, parsed: ParsedFetch) -> FetchTemplate | None:
        """A template for the request; None when the fast path cannot serve requests of this kind."""
        owner = self._owner
        topic = parsed.request.topics[0]
        fetch_partition = topic.partitions[0]
        image = owner.cache.image
        name = topic.topic if topic.topic_id == ZERO_UUID else image.topic_name(topic.topic_id) or ""
        partition = owner.replicas.partition(name, fetch_partition.partition)
        if (
            partition is None
            or not partition.is_leader
            or fetch_partition.last_fetched_epoch >= 0
            or fetch_partition.current_leader_epoch not in (-1, partition.leader_epoch)
            or topic.topic_id not in (ZERO_UUID, partition.topic_id)
            or not may(owner.authorizer, self._connection.context, AclOperation.READ, name)
        ):
            return None
        isolation = Isolation(parsed.request.isolation_level)
        key = FetchKey(topic.topic, topic.topic_id, fetch_partition.partition)
        response = FetchedPartition.build(self._version, NO_SESSION, key, isolation)
        if response is None:
            return None
        template = FetchTemplate(parsed.key, parsed.layout, partition, parsed.request, response)
        template.set_limits(parsed.request, owner.replicas.config.fetch_max_bytes)
        template.watch((partition,), image, owner.authorizer.stamp)
        return template

    def _session_template(self, parsed: ParsedFetch) -> SessionTemplate:
        """A template for an incremental request. Its partitions are read, and their state compared, at every hit."""
        owner = self._owner
        request = owner.session_fetches.request_of(parsed.request, self._version)
        template = SessionTemplate(parsed.key, parsed.layout, request)
        template.watch((), owner.cache.image, owner.authorizer.stamp)
        return template
