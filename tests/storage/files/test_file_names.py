from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.storage.files.file_names import (
    LOG_SUFFIX,
    deleted_folder_name,
    lost_partitions,
    offset_name,
    offset_of,
    offsets_in,
    partition_of,
)

pytestmark = pytest.mark.spec("D2")


def test_offsets_have_twenty_digits() -> None:
    assert offset_name(42, ".log") == "00000000000000000042.log"
    assert offset_of("00000000000000000042.log", ".log") == 42


@pytest.mark.parametrize("name", ["42.log", "00000000000000000042.index", "0000000000000000004x.log", ".log"])
def test_other_names_have_no_offset(name: str) -> None:
    assert offset_of(name, LOG_SUFFIX) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flights-0", TopicPartition("flights", 0)),
        ("a-b-12", TopicPartition("a-b", 12)),
        ("flights", None),
        ("-1", None),
        ("flights-x", None),
        ("flights-0.abc-delete", None),
    ],
)
def test_a_folder_is_a_partitions_or_not(name: str, expected: TopicPartition | None) -> None:
    assert partition_of(name) == expected


def test_a_deleted_folder_has_a_name_of_its_own_within_the_limit() -> None:
    first, second = (deleted_folder_name(TopicPartition("t" * 249, 7)) for _ in range(2))
    assert first != second
    assert len(first) == 255
    assert first.endswith("-delete")
    assert "-7." in first


def test_a_partition_without_a_folder_is_lost_unless_it_is_being_deleted() -> None:
    long = "t" * 249
    deleted = [TopicPartition("b", 1), TopicPartition(long, 7)]
    kept, lost = TopicPartition("a", 0), [TopicPartition("b", 0), TopicPartition(long, 8)]
    names = ["a-0", "meta.properties", *map(deleted_folder_name, deleted)]
    assert lost_partitions([kept, *deleted, *reversed(lost)], names) == lost


def test_offsets_of_a_folder_ascend(tmp_path: Path) -> None:
    for name in ("00000000000000000100.log", "00000000000000000009.log", "00000000000000000009.index", "x"):
        (tmp_path / name).touch()
    assert offsets_in(str(tmp_path), LOG_SUFFIX) == [9, 100]
