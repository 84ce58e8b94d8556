"""Segments are grouped within the limits of one segment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.storage.cleaner.segment_groups import MOST_SEGMENTS, group_segments
from signalbox.storage.log_config import LogConfig
from signalbox.storage.segments.segment import Segment
from signalbox.storage.segments.transaction_index import ENTRY_SIZE_BYTES, MAX_ENTRIES
from tests.storage.workbench import open_directory

pytestmark = pytest.mark.spec("D6")


def groups(
    tmp_path: Path, sizes: list[int], offsets: list[int] | None = None, index_bytes: int = 0, **config: int
) -> list[int]:
    directory, segments = open_directory(tmp_path), []
    for slot, size in enumerate(sizes):
        segment = Segment(str(tmp_path), offsets[slot] if offsets else slot * 10, directory.disk, 4096)
        segment.use_existing_file(size)
        Path(segment.path(".index")).write_bytes(bytes(index_bytes))
        segments.append(segment)
    end_offset = segments[-1].base_offset + 10
    return [len(group) for group in group_segments(segments, end_offset, LogConfig(**config))]  # type: ignore[arg-type]


def test_the_grouping_yields(tmp_path: Path) -> None:
    results = list[list[int]]()
    task, slices = CooperativeTask(lambda: results.append(groups(tmp_path, [0] * 100))), 0
    while not task.dead:
        task.switch()
        slices += 1
    assert slices > 100
    assert sum(results[0]) == 100


def test_by_size(tmp_path: Path) -> None:
    assert groups(tmp_path, [400, 600, 1, 999, 1, 2_000], segment_bytes=1_000) == [2, 2, 1, 1]


def test_by_index_size(tmp_path: Path) -> None:
    assert groups(tmp_path, [1, 1, 1], index_bytes=40, segment_index_bytes=100) == [2, 1]


def test_by_the_size_of_the_transaction_indexes(tmp_path: Path) -> None:
    for offset in (0, 10, 20):
        path = tmp_path / f"{offset:020}.txnindex"
        path.touch()
        os.truncate(path, ENTRY_SIZE_BYTES * MAX_ENTRIES // 2)
    assert groups(tmp_path, [1, 1, 1]) == [2, 1]


def test_by_the_range_of_offsets(tmp_path: Path) -> None:
    assert groups(tmp_path, [1, 1, 1], [0, 2**31 - 10, 2**31]) == [2, 1]


def test_by_number(tmp_path: Path) -> None:
    assert groups(tmp_path, [0] * (MOST_SEGMENTS + 3)) == [MOST_SEGMENTS, 3]
