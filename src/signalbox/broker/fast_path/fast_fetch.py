"""Fast path of Fetch: one partition, no session, from a consumer; versions 4-18.

The key of a request template ends at the fetch offset; the bytes after the offset are constant too and compared on
every hit. The response consists of head, file slice and tail; the head is encoded once by the codec, with marks in
place of the watermarks. A read that returns less than min_bytes, or an offset outside of the readable range, takes the
generic path, which waits and returns errors.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from signalbox.broker.authorization.authorization import may
from signalbox.broker.fast_path.fast_path import read_header
from signalbox.broker.fast_path.request_templates import (
    KEY_AT,
    HasQuota,
    RequestTemplates,
    is_flexible,
    no_client_has_quota,
)
from signalbox.broker.metrics.request_metrics import FastPathStats
from signalbox.common.clock import Clock
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.quota_entity import CONSUMER_BYTE_RATE
from signalbox.metadata.image import MetadataImage
from signalbox.network.connection import Connection
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.varint import uvarint
from signalbox.replication.fetch.fetch import replica_id_of
from signalbox.replication.fetch.fetch_read import Isolation
from signalbox.replication.fetch.fetch_session import FINAL_EPOCH, NO_SESSION
from signalbox.replication.partition import Partition
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_LOG_START_FROM = 5
_MARK = 0x5B8D_1E37_A94C_7E51
_OFFSET = Struct(">q")
_INT32 = Struct(">i")


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
        self.read_fast_path = replicas.read_fast_path
        self.cache = cache
        self.authorizer = authorizer
        self.monotonic = clock.monotonic

    def __call__(self, connection: Connection, version: int) -> ConnectionFetch:
        return ConnectionFetch(self, connection, version)


class FetchTemplate:
    """Template of a request that is constant except for its offset. `rest`: the bytes after the offset."""

    __slots__ = (
        "after", "authorizer_stamp", "before", "fixed_bytes", "image", "isolation", "key", "max_bytes", "min_bytes",
        "pack", "partition", "rest", "stamp", "tail",
    )  # fmt: skip

    def __init__(self, key: bytes, rest: bytes, partition: Partition, request: FetchRequest, max_bytes: int) -> None:
        self.key = key
        self.rest = rest
        self.partition = partition
        self.stamp = partition.stamp
        self.isolation = Isolation(request.isolation_level)
        max_response_bytes = min(request.max_bytes, max_bytes)
        self.min_bytes = min(request.min_bytes, max_response_bytes) if request.max_wait_ms > 0 else 0
        self.max_bytes = min(max_response_bytes, request.topics[0].partitions[0].partition_max_bytes)
        self.image: MetadataImage | None = None
        self.authorizer_stamp = -1
        self.before = self.after = self.tail = b""
        self.fixed_bytes = 0  # size of the response without the records and their length
        self.pack: Callable[..., bytes] = bytes

    def build_response_template(self, version: int, topic: FetchRequest.FetchTopic) -> bool:
        """Build the response template; False when the positions of the watermarks cannot be determined."""
        data = FetchResponse.PartitionData(
            partition_index=topic.partitions[0].partition,
            high_watermark=_MARK,
            last_stable_offset=_MARK + 1,
            log_start_offset=_MARK + 2,
            aborted_transactions=[] if self.isolation is Isolation.READ_COMMITTED else None,
            records=b"",
        )
        topic_response = FetchResponse.FetchableTopicResponse(
            topic=topic.topic, topic_id=topic.topic_id, partitions=[data]
        )
        body = b"".join(FetchResponse(session_id=NO_SESSION, responses=[topic_response]).encode_chunks(version))
        response = encode_response_header(ApiKey.FETCH, version, 0) + body
        numbers = 3 if version >= _LOG_START_FROM else 2
        marks = b"".join((_MARK + number).to_bytes(8) for number in range(numbers))
        flexible = is_flexible(ApiKey.FETCH, version)
        length, self.tail = (b"\1", b"\0\0\0") if flexible else (bytes(4), b"")
        if response.count(marks) != 1 or not response.endswith(length + self.tail):
            return False
        at = response.index(marks)
        self.before = response[4:at]
        self.after = response[at + len(marks) : len(response) - len(length) - len(self.tail)]
        self.fixed_bytes = len(response) - len(length)
        self.pack = Struct(f">Ii{len(self.before)}s{numbers}q{len(self.after)}s").pack
        return True


class ConnectionFetch:
    """The Fetch requests of one connection at one version."""

    __slots__ = ("_connection", "_flexible", "_has_log_start", "_owner", "_templates", "_version", "stats")

    def __init__(self, owner: FastFetch, connection: Connection, version: int) -> None:
        self._owner = owner
        self._connection = connection
        self._version = version
        self._flexible = is_flexible(ApiKey.FETCH, version)
        self._has_log_start = version >= _LOG_START_FROM
        self._templates: RequestTemplates[FetchTemplate] = RequestTemplates()
        self.stats = FastPathStats()

    def serve(self, frame: memoryview, correlation_id: int) -> bool:
        templates = self._templates
        for end in templates.ends:
            template = templates.by_key.get(frame[KEY_AT:end].tobytes())
            if template is not None and frame[end + 8 :] == template.rest:
                break
        else:
            self._build_template(frame)
            return False
        owner, partition = self._owner, template.partition
        if (
            partition.stamp != template.stamp
            or template.image is not owner.cache.image
            or template.authorizer_stamp != owner.authorizer.stamp
        ):
            templates.forget(template.key)
            return False
        try:
            log_slice = owner.read_fast_path(
                partition, _OFFSET.unpack_from(frame, end)[0], template.max_bytes, template.isolation
            )
        except KafkaError:
            return False  # the generic path gets the same error and returns it
        if log_slice is None:
            return False
        records = log_slice.records
        size = len(records)
        if size < template.min_bytes or isinstance(records, bytes):
            return False  # bytes: the read returned no records
        log = partition.log
        assert log is not None
        length = uvarint(size + 1) if self._flexible else _INT32.pack(size)
        total = template.fixed_bytes + len(length) + size
        watermark, stable = log.high_watermark, partition.last_stable_offset
        if self._has_log_start:
            head = template.pack(
                total, correlation_id, template.before, watermark, stable, log.log_start_offset, template.after
            )
        else:
            head = template.pack(total, correlation_id, template.before, watermark, stable, template.after)
        stats = partition.stats
        stats.fetches += 1
        stats.bytes_out += size
        connection = self._connection
        connection.respond_slice(head + length, records, template.tail)
        self.stats.add(len(frame), total, owner.monotonic() - connection.channel.active_at)
        return True

    def _build_template(self, frame: memoryview) -> None:
        """Build a template from this request, if later requests can be served by it. The generic path serves this
        one."""
        parsed = read_header(frame) if self._templates.should_sample() else None
        if parsed is None:
            return
        header, body_offset = parsed
        principal = self._connection.context.principal
        if self._owner.has_quota(CONSUMER_BYTE_RATE, principal, header.client_id):
            return
        try:
            request: Any = FetchRequest.decode(frame, self._version, body_offset)
            end = _offset_at(request, self._version, frame[body_offset:])
        except (DecodeError, EncodeError):
            return
        if end < 0:
            return
        end += body_offset
        template = self._template(request, bytes(frame[KEY_AT:end]), bytes(frame[end + 8 :]))
        if template is not None and template.build_response_template(self._version, request.topics[0]):
            self.stats.set_sample(header, self._connection.context)
            self._templates.add(template.key, template)

    def _template(self, request: FetchRequest, key: bytes, rest: bytes) -> FetchTemplate | None:
        """A template for the request; None when the fast path cannot serve requests of this kind."""
        owner = self._owner
        if (
            replica_id_of(request) >= 0
            or request.session_id != NO_SESSION
            or request.session_epoch != FINAL_EPOCH
            or request.forgotten_topics_data
            or request.isolation_level not in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED)
        ):
            return None
        topic = request.topics[0]
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
        template = FetchTemplate(key, rest, partition, request, owner.replicas.config.fetch_max_bytes)
        template.image = image
        template.authorizer_stamp = owner.authorizer.stamp
        return template


def _offset_at(request: Any, version: int, body: memoryview) -> int:
    """The position of the fetch offset in the body of a request for one partition; -1 when it cannot be determined."""
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.encode(version) != bytes(body):
        return -1
    partition = request.topics[0].partitions[0]
    offset, partition.fetch_offset = partition.fetch_offset, _MARK
    marked = request.encode(version)
    partition.fetch_offset = offset
    mark = _MARK.to_bytes(8)
    return marked.index(mark) if marked.count(mark) == 1 else -1
