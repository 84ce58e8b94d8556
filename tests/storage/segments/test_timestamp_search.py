from pathlib import Path

import pytest

from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import NOW_MS, append, batch, new_log, reopened


def log_of(path: Path, *stamps: int, compression: str = "none") -> Log:
    """Batches of three records, one millisecond apart. `stamps`: the batches' start times, in ms after NOW_MS."""
    log = new_log(path, LogConfig(segment_bytes=700, index_interval_bytes=100))
    for number, stamp in enumerate(stamps):
        append(log, batch(3, timestamp=NOW_MS + stamp, compression=compression), epoch=number // 4)
    return log


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_are_found_within_batches_of_any_compression(tmp_path: Path, compression: str) -> None:
    log = log_of(tmp_path, *range(0, 200, 10), compression=compression)
    for number in range(20):
        for within in range(3):
            result = log.offset_for_timestamp(NOW_MS + number * 10 + within)
            assert result == (NOW_MS + number * 10 + within, number * 3 + within, number // 4)
    assert log.offset_for_timestamp(NOW_MS + 5) == (NOW_MS + 10, 3, 0)
    assert log.offset_for_timestamp(0) == (NOW_MS, 0, 0)
    assert log.offset_for_timestamp(NOW_MS + 193) is None


def test_out_of_order_timestamps_give_the_first_offset(tmp_path: Path) -> None:
    log = log_of(tmp_path, 100, 0, 300, 200, 50, 400, 10, 250)
    for stamp, answer in zip([0, 50, 100, 150, 200, 301, 302, 350], [0, 0, 0, 6, 6, 7, 8, 15], strict=True):
        result = log.offset_for_timestamp(NOW_MS + stamp)
        assert result is not None
        assert result.offset == answer


def test_deleted_records_are_not_found(tmp_path: Path) -> None:
    log = log_of(tmp_path, 0, 100, 200)
    log.high_watermark = 9
    log.delete_records_before(4)
    result = log.offset_for_timestamp(NOW_MS)
    assert result is not None
    assert result.offset == 4


def test_the_largest_timestamp_and_its_first_record(tmp_path: Path) -> None:
    log = log_of(tmp_path, 0, 500, 100, 498, 200)
    assert log.offset_of_max_timestamp() == (NOW_MS + 502, 5, 0)
    log.close()
    assert reopened(tmp_path).offset_of_max_timestamp() == (NOW_MS + 502, 5, 0)


def test_an_empty_log_has_no_timestamps(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert log.offset_of_max_timestamp() is None
    assert log.offset_for_timestamp(0) is None


def test_log_append_time_is_the_batchs_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, batch(3, timestamp=5))
    assert log.offset_for_timestamp(NOW_MS - 1) == (NOW_MS, 0, 0)
