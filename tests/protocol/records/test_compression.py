from __future__ import annotations

import gzip
import tracemalloc

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.compression import (
    CODES,
    NAMES,
    UnpacksTooLarge,
    compress,
    compression_name,
    decompress,
    unpack,
)

pytestmark = pytest.mark.spec("D1")

CODECS = [name for name in NAMES if name != "none"]


@settings(max_examples=50, deadline=None, database=None)
@given(name=st.sampled_from(NAMES), payload=st.binary(max_size=400), times=st.sampled_from((1, 300)))
def test_there_and_back(name: str, payload: bytes, times: int) -> None:
    assert decompress(name, memoryview(compress(name, payload * times))) == payload * times


def test_codes_are_kafkas() -> None:
    assert CODES == {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
    assert [compression_name(code) for code in range(5)] == list(NAMES)
    for code in (5, 6, 7):
        with pytest.raises(KafkaError, match="unknown compression type"):
            compression_name(code)


def test_snappy_is_framed_as_java_frames_it() -> None:
    payload = bytes(range(256)) * 200
    framed = compress("snappy", payload)
    assert framed[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    size = int.from_bytes(framed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(framed[20 : 20 + size])) == payload[: 32 * 1024]


def test_snappy_without_framing_is_read() -> None:
    assert decompress("snappy", bytes(cramjam.snappy.compress_raw(b"bare" * 50))) == b"bare" * 50


def test_lz4_is_a_frame_of_independent_blocks_as_java_demands() -> None:
    frame = compress("lz4", b"block" * 100_000)
    assert frame[:4] == bytes.fromhex("04224d18")
    version, independent, reserved = frame[4] >> 6, frame[4] >> 5 & 1, frame[4] >> 1 & 1
    assert (version, independent, reserved) == (1, 1, 0)


@pytest.mark.parametrize(
    ("name", "same", "smaller", "larger"), [("gzip", -1, None, 1), ("zstd", 3, 19, -50), ("lz4", 9, 12, None)]
)
def test_levels(name: str, same: int, smaller: int | None, larger: int | None) -> None:
    """Kafka's default of each level is that of no level; at lz4's, 9, Kafka takes the fast compressor."""
    payload = b"".join(b"%d of %d;" % (number * number % 1_009, number) for number in range(20_000))
    default = compress(name, payload)
    assert compress(name, payload, same) == default
    assert smaller is None or len(compress(name, payload, smaller)) < len(default)
    assert larger is None or len(compress(name, payload, larger)) > len(default)
    assert decompress(name, compress(name, payload, smaller or larger)) == payload


def test_other_implementations_read_gzip_and_zstd() -> None:
    assert gzip.decompress(compress("gzip", b"text")) == b"text"
    assert decompress("gzip", gzip.compress(b"text")) == b"text"
    assert compress("zstd", b"text")[:4] == bytes.fromhex("28b52ffd")


def test_frames_in_a_row_are_one_payload() -> None:
    for name in ("gzip", "lz4", "zstd"):
        assert decompress(name, compress(name, b"one") + compress(name, b"two")) == b"onetwo"


@pytest.mark.parametrize("name", CODECS)
def test_a_bomb_is_rejected_before_the_memory_is_taken(name: str) -> None:
    bomb = compress(name, bytes(50_000_000))
    assert len(bomb) < 3_000_000
    tracemalloc.start()
    with pytest.raises(KafkaError, match="exceed") as rejected:
        decompress(name, bomb, limit_bytes=1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rejected.value.error is Error.CORRUPT_MESSAGE
    assert peak < 10_000_000


@pytest.mark.parametrize("name", CODECS)
def test_exactly_the_limit_is_allowed(name: str) -> None:
    packed = compress(name, bytes(500_000))
    assert len(decompress(name, packed, limit_bytes=500_000)) == 500_000
    with pytest.raises(KafkaError):
        decompress(name, packed, limit_bytes=499_999)


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("hurt", [b"", b"\x01", b"garbage garbage", b"\xff" * 40])
def test_invalid_payloads_are_corrupt(name: str, hurt: bytes) -> None:
    with pytest.raises(KafkaError) as rejected:
        decompress(name, hurt)
    assert rejected.value.error is Error.CORRUPT_MESSAGE


@settings(max_examples=150, deadline=None, database=None)
@given(name=st.sampled_from(CODECS), cut=st.integers(0, 60), byte=st.integers(0, 255))
def test_a_changed_payload_is_corrupt_or_read_but_no_other_error(name: str, cut: int, byte: int) -> None:
    packed = compress(name, b"some payload that repeats, repeats, repeats " * 3)
    for hurt in (packed[:cut], packed[:cut] + bytes([byte]) + packed[cut + 1 :]):
        try:
            result: object = decompress(name, hurt, limit_bytes=10_000)
        except KafkaError as rejected:
            result = rejected.error
        assert result is Error.CORRUPT_MESSAGE or isinstance(result, bytes)


@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("size", [0, 10, 3_000_000])
def test_unpacking_into_memory_of_its_own(name: str, size: int) -> None:
    payload = bytes(range(256)) * (size // 256) + b"end"
    unpacked = unpack(name, compress(name, payload), len(payload))
    assert unpacked.records == payload
    unpacked.release()
    with pytest.raises(UnpacksTooLarge):
        unpack(name, compress(name, payload), len(payload) - 1)
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        unpack(name, b"no codec has written this", 1_000_000)
    assert compress(name, memoryview(payload)) == compress(name, payload)
