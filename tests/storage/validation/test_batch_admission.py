import random

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import check_crc, read_batch_header, write_batch_header
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation.batch_admission import (
    AdmissionSteps,
    admit_batch,
    batch_rules,
    begin_admission,
    finish_admission,
    needs_full_validation,
)
from tests.storage.workbench import NOW_MS, batch

pytestmark = pytest.mark.spec("D1")

MIB = 1 << 20


def admit(data: bytes, config: LogConfig, from_client: bool = True) -> tuple[bytes, int]:
    stored, header, stamp = admit_batch(data, config, batch_rules(config), NOW_MS, from_client)
    assert header[:13] == read_batch_header(stored)[:13]
    assert check_crc(stored, read_batch_header(stored))
    return bytes(stored), stamp


def rejection(data: bytes, config: LogConfig) -> Error:
    with pytest.raises(KafkaError) as rejected:
        admit(data, config)
    return rejected.value.error


@pytest.mark.parametrize(
    ("config", "careful"),
    [
        (LogConfig(), False),
        (LogConfig(message_timestamp_type="LogAppendTime"), True),
        (LogConfig(cleanup_policy=("compact",)), True),
        (LogConfig(compression_type="zstd"), True),
    ],
)
def test_which_topics_need_full_validation(config: LogConfig, careful: bool) -> None:
    assert needs_full_validation(config) == careful


def test_the_brokers_clock_is_stamped_and_signed(tmp_path: object) -> None:
    data = batch(3, timestamp=5)
    stored, stamp = admit(data, LogConfig(message_timestamp_type="LogAppendTime"))
    assert stamp == NOW_MS
    assert [record.timestamp for record in decode_records(stored)] == [NOW_MS] * 3
    assert len(stored) == len(data)


@pytest.mark.parametrize("came", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("target", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_may_want_its_own_compression(came: str, target: str) -> None:
    data = batch(3, size=200, producer_id=5, sequence=8, compression=came)
    stored, _ = admit(data, LogConfig(compression_type=target))
    expected = came if target == "producer" else ("none" if target == "uncompressed" else target)
    assert stored[22] & 7 == ["none", "gzip", "snappy", "lz4", "zstd"].index(expected)
    assert list(decode_records(stored)) == list(decode_records(data))
    assert stored[43:57] == data[43:57]


def test_compacted_topics_want_keys() -> None:
    config = LogConfig(cleanup_policy=("compact",))
    with pytest.raises(KafkaError) as rejected:
        admit(batch(2), config)
    assert rejected.value.error == Error.INVALID_RECORD
    keyed = encode_batch([Record(key=b"k", value=b"v", timestamp=NOW_MS)])
    assert admit(keyed, config)[0] == keyed
    assert admit(batch(2), config, from_client=False)[0] == batch(2)


def test_markers_are_not_for_clients() -> None:
    marker = encode_batch(
        [Record(key=b"\0\0\0\1", value=bytes(6), timestamp=NOW_MS)],
        producer_id=1,
        producer_epoch=0,
        transactional=True,
        control=True,
    )
    with pytest.raises(KafkaError, match="clients may not write control records"):
        admit(marker, LogConfig())
    assert admit(marker, LogConfig(), from_client=False)[0] == marker


# -- batches with a high compression ratio --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_message_bytes", "unpacked_bytes"),
    [(1000, 64 * MIB), (MIB, 64 * MIB), (3 * MIB, 192 * MIB), (2**31 - 1, 256 * MIB)],
)
def test_decompression_limit_of_a_topic(max_message_bytes: int, unpacked_bytes: int) -> None:
    assert batch_rules(LogConfig(max_message_bytes=max_message_bytes)).max_unpacked_bytes == unpacked_bytes


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_bomb_is_rejected(codec: str) -> None:
    bomb = encode_batch([Record(key=b"k", value=bytes(65 * MIB), timestamp=NOW_MS)], compression=codec)
    for config in (LogConfig(), LogConfig(compression_type="snappy"), LogConfig(cleanup_policy=("compact",))):
        assert rejection(bomb, config) is Error.MESSAGE_TOO_LARGE
    assert admit(bomb, LogConfig(max_message_bytes=2 * MIB))[0] == bomb


def test_a_recompressed_batch_must_fit_max_message_bytes() -> None:
    data = encode_batch([Record(value=bytes(20_000), timestamp=NOW_MS)], compression="zstd")
    config = LogConfig(max_message_bytes=10_000, compression_type="uncompressed")
    assert rejection(data, config) is Error.MESSAGE_TOO_LARGE


def test_the_records_of_compressed_batches_are_counted() -> None:
    noise = random.Random(1)
    rows = [Record(value=noise.randbytes(600), timestamp=NOW_MS) for _ in range(3)]
    data = encode_batch(rows, compression="zstd")
    lying = write_batch_header(read_batch_header(data)._replace(record_count=5, last_offset_delta=4), data[61:])
    for config in (LogConfig(), LogConfig(compression_type="lz4")):
        assert rejection(lying, config) is Error.INVALID_RECORD
    assert admit(lying, LogConfig(), from_client=False)[0] == lying, "a coordinator's own batch is not read again"


@pytest.mark.parametrize("policy", [("delete",), ("compact",)])
def test_millions_of_records_are_not_read(policy: tuple[str, ...]) -> None:
    config = LogConfig(cleanup_policy=policy, max_message_bytes=2_000)

    def smallest(count: int) -> bytes:
        return encode_batch([Record(key=b"", value=b"", timestamp=NOW_MS)] * count, compression="zstd")

    assert admit(smallest(1_000), config)
    assert rejection(smallest(1_001), config) is Error.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    "config", [LogConfig(), LogConfig(cleanup_policy=("compact",)), LogConfig(compression_type="lz4")]
)
def test_a_batch_with_large_decompressed_size_is_admitted_in_steps(config: LogConfig) -> None:
    def compressed(size: int) -> bytes:
        return encode_batch([Record(key=b"k", value=bytes(size), timestamp=NOW_MS)], compression="gzip")

    assert not isinstance(begin_admission(compressed(60_000), config, batch_rules(config), NOW_MS), AdmissionSteps)
    data = bytearray(compressed(100_000))
    admission = begin_admission(memoryview(data), config, batch_rules(config), NOW_MS)
    assert isinstance(admission, AdmissionSteps)
    data[:] = bytes(len(data))  # the buffer is reused
    stored, header, _ = finish_admission(admission)
    assert header[12] == 1
    assert [len(record.value or b"") for record in decode_records(stored)] == [100_000]
    admission = begin_admission(compressed(100_000), config, batch_rules(config), NOW_MS)
    assert isinstance(admission, AdmissionSteps)
    with pytest.raises(KafkaError, match="the thread failed"):
        admission.resume(KafkaError(Error.CORRUPT_MESSAGE, "the thread failed"))


def test_the_largest_record_of_a_compressed_batch() -> None:
    data = encode_batch([Record(value=bytes(size), timestamp=NOW_MS) for size in (5, 2_000)], compression="gzip")
    assert rejection(data, LogConfig(max_decompressed_message_bytes=2_000)) is Error.INVALID_RECORD
    assert admit(data, LogConfig(max_decompressed_message_bytes=2_010))[0] == data


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_topic_may_want_its_own_level(codec: str) -> None:
    data = encode_batch([Record(value=b"%d" % (number * number), timestamp=NOW_MS) for number in range(500)])
    highest = {"gzip": 9, "lz4": 12, "zstd": 19}[codec]

    def size(level: int) -> int:
        own = {"compression.type": codec, f"compression.{codec}.level": str(level)}
        return len(admit(data, LogConfig.from_topic_config(own))[0])

    assert size(1) > size(highest)
