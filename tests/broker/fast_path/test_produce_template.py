from __future__ import annotations

import tracemalloc

import pytest

from signalbox.broker.fast_path.produce_template import build_template
from signalbox.protocol.headers import decode_request_header, encode_request_header
from signalbox.protocol.messages.produce import ProduceRequest

Data = ProduceRequest.PartitionProduceData


def shape_of(body: ProduceRequest, version: int, tail: bytes = b"") -> object:
    frame = memoryview(bytearray(encode_request_header(0, version, 1, "c") + body.encode(version) + tail))
    return build_template(frame, *decode_request_header(frame))


def request(*batches: bytes, transactional_id: str | None = None) -> ProduceRequest:
    data = [Data(index=index, records=batch) for index, batch in enumerate(batches)]
    topic = ProduceRequest.TopicProduceData(name="t", topic_id=bytes(15) + b"\1", partition_data=data)
    return ProduceRequest(acks=1, timeout_ms=5, transactional_id=transactional_id, topic_data=[topic])


@pytest.mark.parametrize("version", range(3, 14))
def test_the_key_does_not_depend_on_the_records(version: int) -> None:
    one, other = shape_of(request(b"x" * 70), version), shape_of(request(b"y" * 20_000), version)
    assert one is not None
    assert other is not None
    assert one.key == other.key  # type: ignore[attr-defined]
    assert one.gaps == other.gaps == ((b"\0\0\0" if version >= 9 else b""),)  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [3, 9, 13])
def test_records_are_not_copied(version: int) -> None:
    body = request(bytes(1_000_000))
    frame = memoryview(encode_request_header(0, version, 1, "c") + body.encode(version))
    tracemalloc.start()
    try:
        assert build_template(frame, *decode_request_header(frame)) is not None
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_gaps_name_the_next_partition() -> None:
    template = shape_of(request(b"a" * 61, b"b" * 61), 9)
    assert template.gaps == (b"\0\0\0\0\1", b"\0\0\0")  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [3, 9, 13])
def test_what_is_not_remembered(version: int) -> None:
    assert shape_of(request(), version) is None
    assert shape_of(request(b""), version) is None
    assert shape_of(request(*[b"a"] * 9), version) is None
    assert shape_of(request(b"a", transactional_id="t"), version) is None
    assert shape_of(request(b"a"), version, tail=b"more") is None
