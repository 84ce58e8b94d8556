"""Template of a Produce request that is constant except for its records, and of its response, which is constant except
for offsets and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

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
_MARK = 0x5B8D_1E37_A94C_0000  # the offset of partition n is encoded as this plus n, then looked for
_INT32 = Struct(">i")
_NUMBERS = {False: Struct(">qq"), True: Struct(">qqq")}


class ProduceTemplate:
    """`gaps`: the bytes after each partition's records; `body`: the request without its records."""

    __slots__ = (
        "_after",
        "_before",
        "_has_log_start",
        "_marks",
        "_pack",
        "_size",
        "acks",
        "authorizer_stamp",
        "body",
        "client_id",
        "gaps",
        "image",
        "key",
        "partition",
        "partitions",
        "stamp",
        "stamps",
        "timeout_ms",
    )  # fmt: skip

    def __init__(self, key: bytes, gaps: tuple[bytes, ...], body: ProduceRequest, header: RequestHeader) -> None:
        self.key = key
        self.gaps = gaps
        self.body = body
        self.client_id = header.client_id
        self.acks = body.acks
        self.timeout_ms = body.timeout_ms
        self.partitions: tuple[Partition, ...] = ()
        self.partition: Partition | None = None  # set if the request has one partition only
        self.stamps: tuple[int, ...] = ()
        self.stamp = 0
        self.image: MetadataImage | None = None
        self.authorizer_stamp = -1
        self._has_log_start = header.api_version >= _LOG_START_FROM
        self._size = 0
        self._before = self._after = b""
        self._marks: tuple[int, ...] = ()
        self._pack: Callable[..., bytes] = bytes

    def watch(self, partitions: Sequence[Partition], image: MetadataImage, authorizer_stamp: int) -> None:
        """Store the present stamps of everything that the response depends on."""
        self.partitions = tuple(partitions)
        self.stamps = tuple(partition.stamp for partition in partitions)
        if len(partitions) == 1:
            self.partition, self.stamp = partitions[0], partitions[0].stamp
        self.image = image
        self.authorizer_stamp = authorizer_stamp

    def build_response_template(self, encode: Callable[[Sequence[PendingAppend]], bytes]) -> bool:
        """Build the response template from an example response of `encode`. False when the positions of the numbers
        cannot be determined."""
        appends = []
        for number, partition in enumerate(self.partitions):
            append = PendingAppend(partition, self.acks)
            append.base_offset = _MARK + number
            appends.append(append)
        response = encode(appends)
        marks = [(_MARK + number).to_bytes(8) for number in range(len(appends))]
        if any(response.count(mark) != 1 for mark in marks):
            return False
        self._marks = tuple(response.index(mark) for mark in marks)
        numbers = _NUMBERS[self._has_log_start]
        self._size = len(response)
        if self.partition is None:
            self._before = response
            return True
        at, behind = self._marks[0], self._marks[0] + numbers.size
        self._before, self._after = response[4:at], response[behind:]
        self._pack = Struct(f">Ii{at - 4}s{numbers.format[1:]}{len(response) - behind}s").pack
        return True

    def answer(self, correlation_id: int, appends: Sequence[PendingAppend]) -> bytes:
        """The response frame, which begins with its size, for appends without an error."""
        if self.partition is None:
            return self._answer_many(correlation_id, appends)
        return self.answer_one(correlation_id, appends[0])

    def answer_one(self, correlation_id: int, append: PendingAppend) -> bytes:
        """The same for a request with one partition."""
        offset, appended_at = append.base_offset, append.log_append_time_ms
        if self._has_log_start:
            start = append.log_start_offset
            return self._pack(self._size, correlation_id, self._before, offset, appended_at, start, self._after)
        return self._pack(self._size, correlation_id, self._before, offset, appended_at, self._after)

    def _answer_many(self, correlation_id: int, appends: Sequence[PendingAppend]) -> bytes:
        frame = bytearray(self._before)
        _INT32.pack_into(frame, 0, correlation_id)
        pack_into = _NUMBERS[self._has_log_start].pack_into
        for at, append in zip(self._marks, appends, strict=True):
            start = (append.log_start_offset,) if self._has_log_start else ()
            pack_into(frame, at, append.base_offset, append.log_append_time_ms, *start)
        return self._size.to_bytes(4) + frame


def build_template(frame: memoryview, header: RequestHeader, body_offset: int) -> ProduceTemplate | None:
    """The template of a request; None when it cannot have one (no partition, too many partitions, transactional, or an
    unusual encoding)."""
    version = header.api_version
    try:
        body: Any = ProduceRequest.decode(frame, version, body_offset)
        chunks = body.encode_chunks(version)
    except (DecodeError, EncodeError):
        return None
    partitions = [partition for topic in body.topic_data for partition in topic.partition_data]
    if body.transactional_id is not None or not 1 <= len(partitions) <= MAX_REQUEST_TEMPLATE_PARTITIONS:
        return None
    if not all(partition.records for partition in partitions):
        return None
    constants = _constants(chunks, [partition.records for partition in partitions])
    if constants is None or bytes(frame[body_offset:]) != b"".join(chunks):
        return None
    flexible = is_flexible(ApiKey.PRODUCE, version)
    for number, partition in enumerate(partitions):
        size = len(partition.records)
        prefix = uvarint(size + 1) if flexible else _INT32.pack(size)
        if not constants[number].endswith(prefix):
            return None
        constants[number] = constants[number].removesuffix(prefix)
        partition.records = None
    key = bytes(frame[KEY_AT:body_offset]) + constants[0]
    return ProduceTemplate(key, tuple(constants[1:]), body, header)


def _constants(chunks: list[Any], records: list[Any]) -> list[bytes] | None:
    """The bytes before, between and after the records; None when not all records are found."""
    constants = [b""]
    remaining = iter(records)
    expected = next(remaining, None)
    for chunk in chunks:
        if chunk is expected:
            constants.append(b"")
            expected = next(remaining, None)
        else:
            constants[-1] += bytes(chunk)
    return constants if len(constants) == len(records) + 1 else None
