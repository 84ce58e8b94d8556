import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import check_crc
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.storage.batch_admission import admit_batch, batch_rules, needs_care
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import NOW_MS, batch


def admit(data: bytes, config: LogConfig, from_client: bool = True) -> tuple[bytes, int]:
    stored, header, stamp = admit_batch(data, config, batch_rules(config), NOW_MS, from_client)
    assert check_crc(stored, header)
    return bytes(stored), stamp


@pytest.mark.parametrize(
    ("config", "careful"),
    [
        (LogConfig(), False),
        (LogConfig(message_timestamp_type="LogAppendTime"), True),
        (LogConfig(cleanup_policy=("compact",)), True),
        (LogConfig(compression_type="zstd"), True),
    ],
)
def test_which_topics_need_care(config: LogConfig, careful: bool) -> None:
    assert needs_care(config) == careful


def test_the_brokers_clock_is_stamped_and_signed(tmp_path: object) -> None:
    data = batch(3, timestamp=5)
    stored, stamp = admit(data, LogConfig(message_timestamp_type="LogAppendTime"))
    assert stamp == NOW_MS
    assert [record.timestamp for record in decode_records(stored)] == [NOW_MS] * 3
    assert len(stored) == len(data)


@pytest.mark.parametrize("came", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("wanted", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_may_want_its_own_compression(came: str, wanted: str) -> None:
    data = batch(3, size=200, producer_id=5, sequence=8, compression=came)
    stored, _ = admit(data, LogConfig(compression_type=wanted))
    expected = came if wanted == "producer" else ("none" if wanted == "uncompressed" else wanted)
    assert stored[22] & 7 == ["none", "gzip", "snappy", "lz4", "zstd"].index(expected)
    assert list(decode_records(stored)) == list(decode_records(data))
    assert stored[43:57] == data[43:57]


def test_compacted_topics_want_keys() -> None:
    config = LogConfig(cleanup_policy=("compact",))
    with pytest.raises(KafkaError) as refused:
        admit(batch(2), config)
    assert refused.value.error == Error.INVALID_RECORD
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
    with pytest.raises(KafkaError, match="control"):
        admit(marker, LogConfig())
    assert admit(marker, LogConfig(), from_client=False)[0] == marker
