"""The compiled encoder writes the same bytes as the interpreter, and passes records through without a copy."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.protocol.codec.compile_encode import compile_encoder
from signalbox.protocol.codec.interpreter import encode_struct
from signalbox.protocol.codec.layout import layout_of
from signalbox.protocol.codec_errors import EncodeError
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.protocol.arbitrary import ALL_VERSIONS, messages, version_id


def interpreted(message: Any, version: int) -> bytes:
    chunks: list[Any] = []
    encode_struct(chunks, message, layout_of(message.schema, version), "message")
    return b"".join(chunks)


@pytest.mark.parametrize("case", ALL_VERSIONS, ids=version_id)
def test_compiled_encoding_agrees_with_the_interpreter(case: tuple[Any, int]) -> None:
    message_class, version = case
    for message, _ in messages(message_class, version):
        frame = message.encode(version)
        assert frame == interpreted(message, version)
        assert b"".join(bytes(chunk) for chunk in message.encode_chunks(version)) == frame


def fetch_response(*records: Any) -> FetchResponse:
    partitions = [
        FetchResponse.PartitionData(partition_index=index, records=data) for index, data in enumerate(records)
    ]
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=partitions)])


def test_records_are_chunks_of_their_own_and_never_copied() -> None:
    first, second = bytearray(b"first batch"), memoryview(b"second batch")
    chunks = fetch_response(first, b"", None, second).encode_chunks(12)
    assert chunks[1] is first
    assert chunks[3] is second
    assert len(chunks) == 5
    assert b"".join(chunks) == fetch_response(b"first batch", b"", None, b"second batch").encode(12)


def test_a_slice_of_a_file_passes_through() -> None:
    on_disk = FileSlice(fd=0, position=10, size=7)
    chunks = fetch_response(on_disk).encode_chunks(12)
    assert chunks[1] is on_disk
    assert chunks[0] + b"records" + chunks[2] == fetch_response(b"records").encode(12)


def test_a_slice_of_a_file_cannot_be_joined() -> None:
    with pytest.raises(EncodeError):
        fetch_response(FileSlice(fd=0, position=10, size=7)).encode(12)


@pytest.mark.parametrize("size", [125, 126, 127, 128, 16382, 16383, 16384, 32767])
def test_compact_strings_around_the_steps_of_their_length(size: int) -> None:
    request = FetchRequest(rack_id="x" * size)
    assert FetchRequest.decode(request.encode(12), 12) == request
    assert request.encode(12) == interpreted(request, 12)


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 1000, 20000])
def test_arrays_of_numbers_around_the_steps_of_their_length(count: int) -> None:
    state = UpdateMetadataRequest.UpdateMetadataPartitionState(isr=list(range(count)), replicas=[1] * (count // 2))
    for version in (0, 8):
        if version == 0:
            request = UpdateMetadataRequest(ungrouped_partition_states=[state])
        else:
            topic = UpdateMetadataRequest.UpdateMetadataTopicState(partition_states=[state])
            request = UpdateMetadataRequest(topic_states=[topic])
        assert UpdateMetadataRequest.decode(request.encode(version), version) == request


def test_many_different_lengths_keep_the_shape_caches_small() -> None:
    """Peers choose the lengths: the caches are bounded, and the bytes stay correct."""
    for size in range(1500):
        request = FetchRequest(rack_id="y" * size)
        assert request.encode(11).endswith(b"y" * size)
    assert FetchRequest(rack_id="yy").encode(11).endswith(b"\0\2yy")


def test_an_encoder_works_alone() -> None:
    request = ProduceRequest(topic_data=[], acks=1)
    chunks: list[Any] = []
    places: list[int] = []
    compile_encoder(layout_of(ProduceRequest.schema, 9), ProduceRequest.codec.classes)(request, chunks, places)
    assert b"".join(chunks) == request.encode(9)
    assert places == []
