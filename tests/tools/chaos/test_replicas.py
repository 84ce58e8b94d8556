"""Comparing the folders of brokers: equal records in different segments are equal, every other difference is
reported."""

from __future__ import annotations

from pathlib import Path

from tools.chaos.replicas import compare_replicas

from signalbox.common.ids import TopicPartition
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.storage.files.checkpoint_file import offset_lines, write_lines
from signalbox.storage.files.file_names import HIGH_WATERMARK_FILE, LOG_SUFFIX, offset_name
from signalbox.storage.files.file_system import RealFileSystem

TP = TopicPartition("t", 0)


def batch(offset: int, text: str = "value") -> bytes:
    """A batch with one record at `offset`."""
    return encode_batch([Record(value=text.encode())], base_offset=offset, timestamp_ms=1_700_000_000_000)


def broker(folder: Path, name: str, segments: dict[int, bytes], high_watermark: int) -> Path:
    data = folder / name / "data"
    (data / "t-0").mkdir(parents=True)
    for base_offset, content in segments.items():
        (data / "t-0" / offset_name(base_offset, LOG_SUFFIX)).write_bytes(content)
    write_lines(RealFileSystem(), str(data / HIGH_WATERMARK_FILE), offset_lines({TP: high_watermark}))
    return data


def test_segments_may_end_where_they_like(tmp_path: Path) -> None:
    one = broker(tmp_path, "1", {0: batch(0) + batch(1), 2: batch(2)}, 3)
    two = broker(tmp_path, "2", {0: batch(0), 1: batch(1) + batch(2)}, 3)
    found = compare_replicas({"1": one, "2": two})
    assert found.differences == ()
    assert found.size_bytes == len(batch(0)) * 3
    assert (found.partitions, found.replicas, found.high_watermarks) == (1, 2, {TP: 3})


def test_above_the_high_watermark_and_below_the_first_offset_nothing_is_compared(tmp_path: Path) -> None:
    one = broker(tmp_path, "1", {0: batch(0) + batch(1) + batch(2)}, 2)
    two = broker(tmp_path, "2", {1: batch(1) + batch(2, "other")}, 3)
    found = compare_replicas({"1": one, "2": two})
    assert found.differences == ()
    assert found.size_bytes == len(batch(1))


def test_a_byte_that_differs(tmp_path: Path) -> None:
    one = broker(tmp_path, "1", {0: batch(0) + batch(1)}, 2)
    two = broker(tmp_path, "2", {0: batch(0) + batch(1, "valve")}, 2)
    (difference,) = compare_replicas({"1": one, "2": two}).differences
    assert difference.startswith("t-0 differs: 1 has BatchHeader(base_offset=1,")


def test_a_replica_that_ends_too_early(tmp_path: Path) -> None:
    one = broker(tmp_path, "1", {0: batch(0) + batch(1)}, 2)
    two = broker(tmp_path, "2", {0: batch(0)}, 2)
    differences = compare_replicas({"1": one, "2": two}).differences
    assert differences[0] == "t-0 of 2 ends at 1, below the mark 2"
    assert "differs in length" in differences[1]


def keyed(offset: int, key: bytes, value: bytes | None) -> bytes:
    return encode_batch([Record(key=key, value=value)], base_offset=offset, timestamp_ms=1_700_000_000_000)


def test_of_a_compacted_topic_the_last_record_of_each_key_is_compared(tmp_path: Path) -> None:
    last = keyed(2, b"a", b"new") + keyed(4, b"c", b"same")
    one = broker(tmp_path, "1", {0: keyed(0, b"a", b"old") + keyed(1, b"b", b"x") + last + keyed(5, b"b", None)}, 6)
    two = broker(tmp_path, "2", {0: last + keyed(5, b"b", None)}, 6)
    three = broker(tmp_path, "3", {0: keyed(0, b"a", b"old") + last[len(last) // 2 :] + keyed(5, b"b", None)}, 6)
    assert len(compare_replicas({"1": one, "2": two}).differences) == 1
    assert compare_replicas({"1": one, "2": two}, {"t"}).differences == ()
    (difference,) = compare_replicas({"1": one, "3": three}, {"t"}).differences
    assert difference.startswith("t-0 differs: 1 has BatchHeader(base_offset=2,")


def test_a_torn_segment(tmp_path: Path) -> None:
    one = broker(tmp_path, "1", {0: batch(0) + batch(1)[:-4]}, 2)
    two = broker(tmp_path, "2", {0: batch(0) + batch(1)}, 2)
    (difference,) = compare_replicas({"1": one, "2": two}).differences
    assert difference.startswith("t-0 of 1: ")
