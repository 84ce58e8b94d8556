"""Templates of Fetch requests of consumers, and of responses with one partition.

A request is constant except for the fetch offsets of its partitions and, in a session, its epoch. A response with one
partition is constant except for its watermarks and records.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from struct import Struct
from typing import Any

from signalbox.broker.fast_path.message_template import (
    MARK,
    RequestTemplate,
    ResponseTemplate,
    fixed_layout,
    mark,
    request_constants,
)
from signalbox.broker.fast_path.request_templates import Layout, is_flexible
from signalbox.common.limits import MAX_REQUEST_TEMPLATE_PARTITIONS, MAX_SESSION_RESPONSE_TEMPLATES
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.varint import uvarint
from signalbox.replication.fetch.fetch import replica_id_of
from signalbox.replication.fetch.fetch_read import Isolation
from signalbox.replication.fetch.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, FetchKey
from signalbox.replication.fetch.session_fetches import SessionRequest
from signalbox.replication.partition import Partition
from signalbox.storage.segments.transaction_index import AbortedTransaction

Aborted = AbortedTransaction | FetchResponse.AbortedTransaction
_LOG_START_FROM, _PREFERRED_REPLICA_FROM = 5, 11
_NO_REPLICA = bytes.fromhex("ffffffff")
_INT32 = Struct(">i")
_ABORTED = Struct(">qq")
_NUMBER = {4: "i", 8: "q"}  # the struct format of a variable part
_EPOCH_MARK = 0x6C9E_2F48  # the epoch has four bytes


class FetchTemplate(RequestTemplate):
    """A request for one partition without a session. `offset_at`: the position of its offset in a frame."""

    __slots__ = ("isolation", "max_bytes", "min_bytes", "offset_at", "partition", "response")

    def __init__(
        self, key: bytes, layout: Layout, partition: Partition, request: FetchRequest, response: FetchedPartition
    ) -> None:
        super().__init__(key, layout)
        self.offset_at = layout[0].stop
        self.partition = partition
        self.response = response
        self.isolation = Isolation(request.isolation_level)
        self.min_bytes = self.max_bytes = 0

    def set_limits(self, request: FetchRequest, max_bytes: int) -> None:
        """Limits of the response; `max_bytes` is the broker's own."""
        max_response_bytes = min(request.max_bytes, max_bytes)
        self.min_bytes = min(request.min_bytes, max_response_bytes) if request.max_wait_ms > 0 else 0
        self.max_bytes = min(max_response_bytes, request.topics[0].partitions[0].partition_max_bytes)


class SessionTemplate(RequestTemplate):
    """An incremental request. `variables`: its epoch and offsets; `readable_topics`: those that the client may read, as
    far as the authorizer was called."""

    __slots__ = ("_responses", "readable_topics", "request", "variables")

    def __init__(self, key: bytes, layout: Layout, request: SessionRequest) -> None:
        super().__init__(key, layout)
        self.request = request
        self._responses: dict[FetchKey, FetchedPartition | None] = {}
        self.readable_topics: set[str] = set()
        variables = "".join(
            f"{_NUMBER[after.start - before.stop]}{0 if after.stop is None else after.stop - after.start}x"
            for before, after in pairwise(layout)
        )
        self.variables = Struct(f">{layout[0].stop}x{variables}")

    def response_of(self, key: FetchKey, version: int) -> FetchedPartition | None:
        """The response with one partition of the session, which may have any number of them: a limited number is
        stored."""
        if key not in self._responses:
            if len(self._responses) == MAX_SESSION_RESPONSE_TEMPLATES:
                self._responses.clear()
            isolation = self.request.params.isolation
            self._responses[key] = FetchedPartition.build(version, self.request.session_id, key, isolation)
        return self._responses[key]


class FetchedPartition:
    """The response to a fetch whose only partition is this one."""

    __slots__ = ("_flexible", "_has_log_start", "_preferred", "_response", "tail")

    def __init__(self, response: ResponseTemplate, version: int, tail: bytes) -> None:
        self._response = response
        self._flexible = is_flexible(ApiKey.FETCH, version)
        self._has_log_start = version >= _LOG_START_FROM
        self._preferred = _NO_REPLICA if version >= _PREFERRED_REPLICA_FROM else b""
        self.tail = tail

    @classmethod
    def build(cls, version: int, session_id: int, key: FetchKey, isolation: Isolation) -> FetchedPartition | None:
        """None when the positions of the watermarks cannot be determined."""
        data = FetchResponse.PartitionData(
            partition_index=key.partition,
            high_watermark=MARK,
            last_stable_offset=MARK + 1,
            log_start_offset=MARK + 2,
            aborted_transactions=[] if isolation is Isolation.READ_COMMITTED else None,
            records=b"",
        )
        topic = FetchResponse.FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id, partitions=[data])
        body = FetchResponse(session_id=session_id, responses=[topic]).encode(version)
        encoded = encode_response_header(ApiKey.FETCH, version, 0) + body
        length, tail = (b"\1", b"\0\0\0") if is_flexible(ApiKey.FETCH, version) else (bytes(4), b"")
        if not encoded.endswith(length + tail):
            return None
        numbers = 3 if version >= _LOG_START_FROM else 2
        marks = b"".join(mark(number) for number in range(numbers))
        response = ResponseTemplate.build(encoded[: len(encoded) - len(length) - len(tail)], [marks], numbers)
        return None if response is None else cls(response, version, tail)

    def head(
        self, correlation_id: int, watermarks: tuple[int, int, int], size: int, aborted: Sequence[Aborted] = ()
    ) -> tuple[bytes, int]:
        """The frame before the records, which have `size` bytes, and the size of the response. `watermarks`: high
        watermark, last stable offset, log start offset; `aborted`: of a read of committed records."""
        length = uvarint(size + 1) if self._flexible else _INT32.pack(size)
        extra_bytes = len(length) + size + len(self.tail)
        numbers = watermarks if self._has_log_start else watermarks[:2]
        response = self._response
        if not aborted:
            return response.one_group(correlation_id, numbers, extra_bytes) + length, response.size_bytes + extra_bytes
        empty, listed = self._array_of(()), self._array_of(aborted)
        extra_bytes += len(listed) - len(empty)
        frame = response.one_group(correlation_id, numbers, extra_bytes)
        frame = frame[: len(frame) - len(empty) - len(self._preferred)] + listed + self._preferred + length
        return frame, response.size_bytes + extra_bytes

    def _array_of(self, aborted: Sequence[Aborted]) -> bytes:
        """The field `aborted_transactions`, which is the last one before the records, or the last but one."""
        if self._flexible:
            rows = (_ABORTED.pack(each.producer_id, each.first_offset) + b"\0" for each in aborted)
            return uvarint(len(aborted) + 1) + b"".join(rows)
        rows = (_ABORTED.pack(each.producer_id, each.first_offset) for each in aborted)
        return _INT32.pack(len(aborted)) + b"".join(rows)


class ParsedFetch:
    """A consumer's request that can have a template, with its key and its layout."""

    __slots__ = ("key", "layout", "request")

    def __init__(self, request: Any, key: bytes, layout: Layout) -> None:
        self.request = request
        self.key = key
        self.layout = layout


def parse_fetch(frame: memoryview, version: int, body_offset: int) -> ParsedFetch | None:
    """None for requests of followers, requests that create or end a session, or name too many or forgotten partitions,
    and unusual encodings."""
    try:
        request: Any = FetchRequest.decode(frame, version, body_offset)
        partitions = [partition for topic in request.topics for partition in topic.partitions]
        in_session = request.session_id != NO_SESSION
        if (
            replica_id_of(request) >= 0
            or (request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH)) == in_session
            or (not in_session and request.session_epoch != FINAL_EPOCH)
            or (not in_session and [len(topic.partitions) for topic in request.topics] != [1])
            or len(partitions) > MAX_REQUEST_TEMPLATE_PARTITIONS
            or request.forgotten_topics_data
            or request.isolation_level not in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED)
        ):
            return None
        constants, sizes = _constants(request, partitions, frame[body_offset:], version)
    except (DecodeError, EncodeError):
        return None
    if constants is None:
        return None
    layout = fixed_layout(body_offset, constants, sizes)
    return ParsedFetch(request, b"".join([frame[part] for part in layout]), layout)


def _constants(
    request: Any, partitions: list[Any], body: memoryview, version: int
) -> tuple[list[bytes] | None, list[int]]:
    """The constant parts of the body (None if they cannot be determined), and the sizes of the parts between them."""
    values = [partition.fetch_offset.to_bytes(8, signed=True) for partition in partitions]
    marks = [mark(number) for number in range(len(partitions))]
    epoch, offsets = request.session_epoch, [partition.fetch_offset for partition in partitions]
    for number, partition in enumerate(partitions):
        partition.fetch_offset = MARK + number
    if request.session_id != NO_SESSION:
        request.session_epoch = _EPOCH_MARK
        values.insert(0, _INT32.pack(epoch))
        marks.insert(0, _INT32.pack(_EPOCH_MARK))
    marked = request.encode(version)
    request.session_epoch = epoch
    for partition, offset in zip(partitions, offsets, strict=True):
        partition.fetch_offset = offset
    return request_constants(body, marked, marks, values), [len(value) for value in values]
