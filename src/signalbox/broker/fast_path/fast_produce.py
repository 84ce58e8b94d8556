"""Fast path of Produce: up to eight partitions, any acks, versions 7-13 (before version 7 each batch is checked for
zstd compression).

The key of a request template ends at the length of the first records; the bytes between records and after the last ones
are constant too and compared on every hit. The response is that of the generic handler, encoded once with marks in
place of offset and times; a response with an error is also built by that handler. Batches are appended like all others
(`Appends.append_to`): checksum, sequence and offsets are checked on every hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from signalbox.broker.api_request import ApiRequest, CloseConnection, NoResponse, RawResponse, ResponseMessage
from signalbox.broker.authorization.authorization import may
from signalbox.broker.fast_path.fast_path import read_header
from signalbox.broker.fast_path.produce_template import ProduceTemplate, build_template
from signalbox.broker.fast_path.request_templates import (
    HasQuota,
    RequestTemplates,
    is_flexible,
    no_client_has_quota,
)
from signalbox.broker.handlers.records.produce import ZSTD_FROM, ProduceHandler
from signalbox.broker.metrics.request_metrics import FastPathStats
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.clock import Clock
from signalbox.common.ids import ZERO_UUID
from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.common.waiting.deadlines import Deadline
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.quota_entity import PRODUCER_BYTE_RATE
from signalbox.network.connection import Connection
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import RequestHeader, encode_response_header
from signalbox.protocol.varint import read_uvarint
from signalbox.replication.partition import Partition
from signalbox.replication.produce.append import VALID_ACKS
from signalbox.replication.produce.pending_append import ACKS_ALL, PendingAppend
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.storage.append_queue import LogAppendInfo

_NOT_REMEMBERED = frozenset({*INTERNAL_TOPICS, AUDIT_TOPIC})  # writes are rejected, or not audited
_SMALLEST_BATCH_BYTES = 61


class FastProduce:
    """State shared by all connections of the broker; a factory for `ConnectionProduce`."""

    def __init__(
        self,
        replicas: ReplicaManager,
        cache: MetadataCache,
        authorizer: Authorizer,
        handler: ProduceHandler,
        clock: Clock,
        has_quota: HasQuota = no_client_has_quota,
    ) -> None:
        self.has_quota = has_quota
        self.replicas = replicas
        self.append_to = replicas.append_to
        self.cache = cache
        self.authorizer = authorizer
        self.handler = handler
        self.now_ms = clock.now_ms
        self.monotonic = clock.monotonic
        self.add_deadline = replicas.scheduler.deadlines.add

    def __call__(self, connection: Connection, version: int) -> ConnectionProduce:
        return ConnectionProduce(self, connection, version)


class FastPathAppend(PendingAppend):
    """The pending append of a request with one partition; it sends the response itself."""

    __slots__ = ("_correlation_id", "_deadline", "_owner", "_request_bytes", "_template")

    def __init__(
        self, owner: ConnectionProduce, template: ProduceTemplate, correlation_id: int, request_bytes: int
    ) -> None:
        # PendingAppend.__init__ is not called: fields that `written` or `fail` always set are not set here.
        self.partition = template.partition
        self.acks = template.acks
        self.error = 0
        self.error_message = None
        self.record_errors = ()
        self.log_start_offset = -1
        self.done = False
        self._owner = owner
        self._template = template
        self._correlation_id = correlation_id
        self._request_bytes = request_bytes
        self._deadline: Deadline | None = None

    def written(self, info: LogAppendInfo, error: KafkaError | None) -> None:
        partition = self.partition
        if error is None and partition is not None and _fulfilled(partition, info.last_offset, self.acks):
            self.base_offset = info.first_offset
            self.log_append_time_ms = info.log_append_time_ms
            self.log_start_offset = info.log_start_offset
            self.done = True
            if not info.duplicate:  # as `TopicStats.appended`, inlined
                stats = partition.stats
                stats.bytes_in += info.size_bytes
                stats.messages_in += info.last_offset - info.first_offset + 1
            self._owner.answer_one(self._template, self._correlation_id, self, self._request_bytes)
            return
        PendingAppend.written(self, info, error)
        if not self.done:
            self._deadline = self._owner.add_deadline(self._template.timeout_ms, self._expire)

    def finish(self) -> None:
        if self.done:
            return
        self.done = True
        if self._deadline is not None:
            self._deadline.cancel()
        self._owner.answer(self._template, self._correlation_id, (self,), self._request_bytes)

    def _expire(self) -> None:
        self._deadline = None
        self.fail(Error.REQUEST_TIMED_OUT)


def _fulfilled(partition: Partition, last_offset: int, acks: int) -> bool:
    """Whether an append that ends at `last_offset` and is written to the file already satisfies `acks`."""
    if acks != ACKS_ALL:
        return True
    log = partition.log
    return (
        partition.is_leader
        and log is not None
        and last_offset < log.high_watermark
        and partition.effective_min_isr <= len(partition.maximal_isr)
    )


class ConnectionProduce:
    """The Produce requests of one connection at one version."""

    __slots__ = ("_connection", "_flexible", "_owner", "_templates", "_version", "add_deadline", "stats")

    def __init__(self, owner: FastProduce, connection: Connection, version: int) -> None:
        self._owner = owner
        self._connection = connection
        self._version = version
        self._flexible = is_flexible(ApiKey.PRODUCE, version)
        self._templates: RequestTemplates[ProduceTemplate] = RequestTemplates()
        self.add_deadline = owner.add_deadline
        self.stats = FastPathStats()

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        """Yields."""
        templates = self._templates
        template = templates.find(frame)
        if template is None:
            self._build_template(frame)
            return False
        owner, partition, end = self._owner, template.partition, template.end
        if template.image is not owner.cache.image or template.authorizer_stamp != owner.authorizer.stamp:
            templates.forget(template)
            return False
        if partition is None:
            return self._serve_many(template, frame, end, correlation_id)
        if partition.stamp != template.stamp:
            templates.forget(template)
            return False
        # The position of the records: as `_records_at`, inlined for the most frequent case.
        size = len(frame)
        if size - end < _SMALLEST_BATCH_BYTES:
            return False
        if self._flexible:
            length, at = frame[end], end + 1
            if length > 127:
                length = length & 127 | frame[at] << 7
                at += 1
                if length > 16_383:
                    length, at = read_uvarint(frame, end)
            stop = at + length - 1
        else:
            at = end + 4
            stop = at + int.from_bytes(frame[end:at])
        if stop > size or frame[stop:] != template.gaps[0]:
            return False
        self._connection.defer()
        owner.append_to(FastPathAppend(self, template, correlation_id, size), frame[at:stop], owner.now_ms())
        return True

    def answer_one(
        self, template: ProduceTemplate, correlation_id: int, append: PendingAppend, request_bytes: int
    ) -> None:
        """Send the response of a request with one partition whose append is complete, without an error."""
        self._respond(template.answer_one(correlation_id, append) if template.acks else b"", request_bytes)

    def answer(
        self, template: ProduceTemplate, correlation_id: int, appends: Sequence[PendingAppend], request_bytes: int
    ) -> None:
        """Send the response when all appends are complete."""
        for append in appends:
            if append.error:
                self._count(request_bytes, self._answer_error(template, correlation_id, appends))
                return
        self._respond(template.answer(correlation_id, appends) if template.acks else b"", request_bytes)

    def _respond(self, frame: bytes, request_bytes: int) -> None:
        """`frame` begins with its size; b"": the request gets no response (acks=0)."""
        if frame:
            self._connection.respond_framed(frame)
            self._count(request_bytes, len(frame) - 4)
        else:
            self._connection.respond_nothing()
            self._count(request_bytes, 0)

    def _count(self, request_bytes: int, response_bytes: int) -> None:
        duration_s = self._owner.monotonic() - self._connection.channel.active_at
        self.stats.add(request_bytes, response_bytes, duration_s)

    def _answer_error(self, template: ProduceTemplate, correlation_id: int, appends: Sequence[PendingAppend]) -> int:
        """Send the generic handler's response; returns its size in bytes."""
        header = RequestHeader(ApiKey.PRODUCE, self._version, correlation_id, template.client_id)
        request = ApiRequest(header, template.body, self._connection.context, b"", 0.0)
        response = self._owner.handler.answer(request, appends)
        if isinstance(response, NoResponse):
            self._connection.respond_nothing()
        elif isinstance(response, CloseConnection | RawResponse):
            assert isinstance(response, CloseConnection)
            self._connection.close(response.reason)
        else:
            payload = _payload(self._version, correlation_id, response)
            self._connection.respond((payload,))
            return len(payload)
        return 0

    # -- several partitions

    def _serve_many(self, template: ProduceTemplate, frame: memoryview, end: int, correlation_id: int) -> bool:
        """Yields."""
        if not template.is_current(self._owner.cache.image, self._owner.authorizer.stamp):
            self._templates.forget(template)
            return False
        batches = []
        try:
            for gap in template.gaps:
                at, stop = self._records_at(frame, end)
                end = stop + len(gap)
                if stop - at < _SMALLEST_BATCH_BYTES or frame[stop:end] != gap:
                    return False
                batches.append(frame[at:stop])
        except (DecodeError, IndexError):
            return False
        if end != len(frame):
            return False
        owner = self._owner
        now_ms = owner.now_ms()
        self._connection.defer()
        appends = [PendingAppend(partition, template.acks) for partition in template.partitions]
        for append, batch in zip(appends, batches, strict=True):
            owner.append_to(append, batch, now_ms)
        completed = owner.replicas.produce_result(appends, template.timeout_ms)
        completed.then(partial(self._answer_many, template, correlation_id, len(frame)))
        return True

    def _answer_many(
        self, template: ProduceTemplate, correlation_id: int, request_bytes: int, appends: list[PendingAppend]
    ) -> None:
        self.answer(template, correlation_id, appends, request_bytes)

    def _records_at(self, frame: memoryview, at: int) -> tuple[int, int]:
        """Start and end of the records whose length field is at `at`."""
        if self._flexible:
            length, start = read_uvarint(frame, at)
            return start, start + length - 1
        return at + 4, at + 4 + int.from_bytes(frame[at : at + 4], signed=True)

    # -- building templates

    def _build_template(self, frame: memoryview) -> None:
        """Build a template from this request, if later requests can be served by it. The generic path serves this
        one."""
        parsed = read_header(frame) if self._version >= ZSTD_FROM and self._templates.should_sample() else None
        template = build_template(frame, *parsed) if parsed is not None else None
        if template is None or template.acks not in VALID_ACKS:
            return
        context, owner = self._connection.context, self._owner
        if owner.has_quota(PRODUCER_BYTE_RATE, context.principal, template.client_id):
            return
        image = owner.cache.image
        partitions: list[Partition] = []
        for topic in template.body.topic_data:
            if topic.topic_id != ZERO_UUID:
                topic.name = image.topic_name(topic.topic_id) or ""
            if topic.name in _NOT_REMEMBERED or not may(owner.authorizer, context, AclOperation.WRITE, topic.name):
                return
            for partition_data in topic.partition_data:
                partition = owner.replicas.partition(topic.name, partition_data.index)
                if partition is None or not partition.is_leader or partition in partitions:  # named twice: generic path
                    return
                partitions.append(partition)
        template.watch(partitions, image, owner.authorizer.stamp)
        request = ApiRequest(RequestHeader(ApiKey.PRODUCE, self._version, 0, None), template.body, context, b"", 0.0)

        def encode(appends: Sequence[PendingAppend]) -> bytes:
            return _payload(self._version, 0, owner.handler.response(request, appends)[0])

        if template.build_response_template(encode):
            assert parsed is not None
            self.stats.set_sample(parsed[0], context)
            self._templates.add(template)


def _payload(version: int, correlation_id: int, response: ResponseMessage) -> bytes:
    head = encode_response_header(ApiKey.PRODUCE, version, correlation_id)
    return head + b"".join(response.encode_chunks(version))
