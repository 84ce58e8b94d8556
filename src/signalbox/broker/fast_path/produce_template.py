"""Template of a Produce request that is constant except for its records, and of its response, which is constant except
for offsets and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from signalbox.broker.fast_path.message_template import (
    MARK,
    RequestTemplate,
    ResponseTemplate,
    mark,
    request_constants,
)
from signalbox.broker.fast_path.request_templates import KEY_AT, is_flexible
from signalbox.common.limits import MAX_REQUEST_TEMPLATE_PARTITIONS
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.headers import RequestHeader
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.varint import uvarint
from signalbox.replication.partition import Partition
from signalbox.replication.produce.pending_append import PendingAppend

_LOG_START_FROM = 5
_WITH_LOG_START = attrgetter("base_offset", "log_append_time_ms", "log_start_offset")
_WITHOUT_LOG_START = attrgetter("base_offset", "log_append_time_ms")
_UNKNOWN = (-1).to_bytes(8, signed=True)  # log append time and log start offset of an append that is not written


class ProduceTemplate(RequestTemplate):
    """`gaps`: the bytes after each partition's records; `end`: where the key ends in a frame; `body`: the request
    without its records."""

    __slots__ = (
        "_has_log_start", "_numbers", "_response", "acks", "body", "client_id", "end", "gaps", "partition", "stamp",
        "timeout_ms",
    )  # fmt: skip

    def __init__(self, key: bytes, gaps: tuple[bytes, ...], body: ProduceRequest, header: RequestHeader) -> None:
        self.end = KEY_AT + len(key)
        super().__init__(key, (slice(KEY_AT, self.end),))
        self.gaps = gaps
        self.body = body
        self.client_id = header.client_id
        self.acks = body.acks
        self.timeout_ms = body.timeout_ms
        self.partition: Partition | None = None  # set if the request has one partition only
        self.stamp = 0
        self._has_log_start = header.api_version >= _LOG_START_FROM
        self._numbers = _WITH_LOG_START if self._has_log_start else _WITHOUT_LOG_START
        self._response: ResponseTemplate | None = None

    def watch(self, partitions: Sequence[Partition], image: MetadataImage, authorizer_stamp: int) -> None:
        """Store the present stamps of everything that the response depends on."""
        super().watch(partitions, image, authorizer_stamp)
        if len(partitions) == 1:
            self.partition, self.stamp = partitions[0], partitions[0].stamp

    def build_response_template(self, encode: Callable[[Sequence[PendingAppend]], bytes]) -> bool:
        """Build the response template from an example response of `encode`. False when the positions of the numbers
        cannot be determined."""
        appends = []
        for number, partition in enumerate(self.partitions):
            append = PendingAppend(partition, self.acks)
            append.base_offset = MARK + number
            appends.append(append)
        unknown = _UNKNOWN * (2 if self._has_log_start else 1)
        marks = [mark(number) + unknown for number in range(len(appends))]
        self._response = ResponseTemplate.build(encode(appends), marks, 3 if self._has_log_start else 2)
        return self._response is not None

    def answer(self, correlation_id: int, appends: Sequence[PendingAppend]) -> bytes:
        """The response frame, which begins with its size, for appends without an error."""
        if self.partition is not None:
            return self.answer_one(correlation_id, appends[0])
        assert self._response is not None
        return self._response.many_groups(correlation_id, [self._numbers(append) for append in appends])

    def answer_one(self, correlation_id: int, append: PendingAppend) -> bytes:
        """The same for a request with one partition."""
        assert self._response is not None
        return self._response.one_group(correlation_id, self._numbers(append))


def build_template(frame: memoryview, header: RequestHeader, body_offset: int) -> ProduceTemplate | None:
    """The template of a request; None when it cannot have one (no partition, too many partitions, transactional, or an
    unusual encoding)."""
    version = header.api_version
    try:
        body: Any = ProduceRequest.decode(frame, version, body_offset)
        partitions = [partition for topic in body.topic_data for partition in topic.partition_data]
        if body.transactional_id is not None or not 1 <= len(partitions) <= MAX_REQUEST_TEMPLATE_PARTITIONS:
            return None
        if not all(partition.records for partition in partitions):
            return None
        sizes = [len(partition.records) for partition in partitions]
        for number, partition in enumerate(partitions):
            partition.records = mark(number)
        marks = [_length(len(mark(number)), version) + mark(number) for number in range(len(partitions))]
        lengths = [_length(size, version) for size in sizes]
        constants = request_constants(frame[body_offset:], body.encode(version), marks, lengths, sizes)
    except (DecodeError, EncodeError):
        return None
    if constants is None:
        return None
    for partition in partitions:
        partition.records = None
    key = bytes(frame[KEY_AT:body_offset]) + constants[0]
    return ProduceTemplate(key, tuple(constants[1:]), body, header)


def _length(size: int, version: int) -> bytes:
    """The length field of records of `size` bytes."""
    return uvarint(size + 1) if is_flexible(ApiKey.PRODUCE, version) else size.to_bytes(4)
