"""The compiled decoder agrees with the interpreter on valid and on malformed bytes, and reads no byte beyond."""

from __future__ import annotations

import struct
import tracemalloc
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.codec.compile_decode import COPY_LIMIT_BYTES, compile_decoder
from signalbox.protocol.codec.interpreter import Reader, decode_struct
from signalbox.protocol.codec.layout import StructLayout, layout_of
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.produce import ProduceRequest
from tests.protocol.arbitrary import ALL_VERSIONS, messages, version_id


@cache
def layout(message_class: Any, version: int) -> StructLayout:
    return layout_of(message_class.schema, version)


def interpreted(message_class: Any, version: int, frame: bytes) -> Any:
    """The result of the interpreter: the message, or None if it rejects the frame."""
    try:
        reader = Reader(frame, 0)
        message = decode_struct(reader, layout(message_class, version), message_class.codec.classes)
    except DecodeError:
        return None
    return message if reader.offset == len(frame) else None


def compiled(message_class: Any, version: int, frame: bytes | memoryview) -> Any:
    try:
        return message_class.decode(frame, version)
    except DecodeError:
        return None


def malformed(random: Random, frame: bytes) -> bytes:
    """The frame truncated, with a byte changed or removed, with a run overwritten, or with a byte appended."""
    place = random.randint(0, max(len(frame) - 1, 0))
    byte = random.choice((b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff"))
    return random.choice(
        (
            frame[:place],
            frame[:place] + byte + frame[place + 1 :],
            frame[:place] + byte * 5 + frame[place + 5 :],
            frame[:place] + frame[place + 1 :],
            frame + byte,
        )
    )


@pytest.mark.parametrize("case", ALL_VERSIONS, ids=version_id)
def test_compiled_decoding_agrees_with_the_interpreter(case: tuple[Any, int]) -> None:
    message_class, version = case
    for message, random in messages(message_class, version):
        frame = message.encode(version)
        assert message_class.decode(frame, version) == message
        assert message_class.decode(memoryview(bytearray(b"before" + frame)), version, 6) == message
        assert interpreted(message_class, version, frame) == message
        for _ in range(4):
            hurt = malformed(random, frame)
            one, other = compiled(message_class, version, hurt), interpreted(message_class, version, hurt)
            assert one == other or repr(one) == repr(other)  # a malformed number may be NaN, which never equals itself


@settings(max_examples=300, deadline=None, database=None)
@given(case=st.sampled_from(ALL_VERSIONS), garbage=st.binary(max_size=200))
def test_garbage_raises_decode_error_or_nothing(case: tuple[Any, int], garbage: bytes) -> None:
    message_class, version = case
    assert compiled(message_class, version, garbage) == interpreted(message_class, version, garbage)


def produce_request(records: bytes) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=0, records=records)
    return ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])])


@pytest.mark.parametrize("size", [100, COPY_LIMIT_BYTES * 2])
@pytest.mark.parametrize("version", [3, 9])
def test_records_are_slices_of_the_buffer_that_was_given(size: int, version: int) -> None:
    frame = bytearray(produce_request(bytes(size)).encode(version))
    request = ProduceRequest.decode(memoryview(frame), version)
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    records[0] = 9
    assert frame.count(9) >= 1


def test_large_frames_read_the_same_from_bytes_and_from_a_view() -> None:
    topic = FetchResponse.FetchableTopicResponse(
        topic="événement",
        partitions=[
            FetchResponse.PartitionData(
                partition_index=index,
                records=bytes(20000),
                aborted_transactions=[FetchResponse.AbortedTransaction(producer_id=1, first_offset=2)],
                current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=3, leader_epoch=4),
            )
            for index in range(2)
        ],
        unknown_tags={9: b"kept"},
    )
    message = FetchResponse(responses=[topic])
    frame = message.encode(12)
    assert FetchResponse.decode(frame, 12) == FetchResponse.decode(memoryview(frame), 12) == message


def test_many_elements_of_fixed_fields_with_and_without_tags() -> None:
    """iter_unpack reads them. If one element has tagged fields, the whole array takes the general path."""
    keys = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=4) for key in range(50)]
    plain = ApiVersionsResponse(api_keys=keys)
    assert ApiVersionsResponse.decode(plain.encode(3), 3) == plain
    keys[30].unknown_tags = {5: b"five"}
    tagged = ApiVersionsResponse(api_keys=keys)
    read = ApiVersionsResponse.decode(tagged.encode(3), 3)
    assert read == tagged
    assert read.api_keys[30].unknown_tags == {5: b"five"}


def test_elements_cut_off_by_the_end_of_the_buffer_are_rejected() -> None:
    keys = [ApiVersionsResponse.ApiVersion(api_key=key) for key in range(8)]
    frame = ApiVersionsResponse(api_keys=keys).encode(3)
    for size in range(len(frame)):
        with pytest.raises(DecodeError):
            ApiVersionsResponse.decode(frame[:size], 3)


@pytest.mark.parametrize("count", [100_000, 1 << 24, (1 << 31) - 1])
def test_a_count_beyond_the_buffer_allocates_nothing(count: int) -> None:
    varint = b""
    rest = count + 1
    while rest > 127:
        varint += bytes([rest & 127 | 128])
        rest >>= 7
    varint += bytes([rest])
    frames: list[tuple[Any, int, bytes]] = [
        (MetadataRequest, 4, struct.pack(">i", count) + bytes(50)),
        (MetadataRequest, 9, varint + bytes(50)),
        (CreateTopicsRequest, 7, varint + bytes(50)),
        (FindCoordinatorRequest, 4, b"\0" + varint + bytes(50)),
    ]
    for message_class, version, frame in frames:
        with pytest.raises(DecodeError):
            message_class.decode(frame, version)
        tracemalloc.start()
        with pytest.raises(DecodeError):
            message_class.decode(frame, version)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000


def test_int_arrays_are_bounded_by_the_buffer_and_by_the_cap() -> None:
    head = bytes(4) + b"\1\0" + bytes(4) + b"\2" + bytes(2) + b"\1" + bytes(17) + b"\2" + bytes(14)
    with pytest.raises(DecodeError):
        MetadataResponse.decode(head + b"\xff\xff\xff\xff\x07" + bytes(64), 12)
    with pytest.raises(DecodeError, match="1000000 are allowed"):
        MetadataResponse.decode(head + b"\xc2\x84\x3d" + bytes(5_000_000), 12)


def test_a_decoder_works_alone() -> None:
    """compile_decoder needs only a layout and classes, and returns where the message ends."""
    decode = compile_decoder(layout(FetchRequest, 12), FetchRequest.codec.classes)
    frame = FetchRequest(rack_id="r1").encode(12)
    message, end = decode(frame + b"rest", 0)
    assert (message.rack_id, end) == ("r1", len(frame))


@pytest.mark.spec("D1")
@pytest.mark.parametrize(
    ("message_class", "version", "frame", "topics"),
    [
        (MetadataRequest, 1, "00000002 0004 636166e9 0002 c3a9", ["caf\ufffd", "é"]),
        (MetadataRequest, 9, "02 05 636166e9 00 00 00 00 00", ["caf\ufffd"]),
    ],
)
def test_a_string_that_is_not_utf_8_has_replacement_characters(
    message_class: Any, version: int, frame: str, topics: list[str]
) -> None:
    """All three readers agree: compiled, in slices, interpreted."""
    raw = bytes.fromhex(frame)
    for read in (
        compiled(message_class, version, raw),
        interpreted(message_class, version, raw),
        message_class.decode_long(raw, version, 0)[0],
    ):
        assert [topic.name for topic in read.topics] == topics
