"""Reading a checkpoint's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.checkpoint_files import (
    CheckpointError,
    batch_end,
    committed_batches,
    flat_offsets,
    nested_offsets,
    planned_batches,
)


def test_both_shapes_of_offsets_read_the_same() -> None:
    assert flat_offsets({"t": {"0": 5, "1": 7}}) == {"t:0": 5, "t:1": 7}
    assert flat_offsets({"t": "topic-id", "t:0": 5, "t:1": 7}) == {"t:0": 5, "t:1": 7}
    assert nested_offsets({"t:0": 5, "t:1": 7}) == {"t": {"0": 5, "1": 7}}


def test_batches_and_their_ends_are_read_from_the_files(tmp_path: Path) -> None:
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    for batch in (9, 10):
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{"conf":{{}}}}\n{{"t":{{"0":{batch}}}}}')
    (tmp_path / "offsets" / ".11.tmp").write_text("half")
    (tmp_path / "commits" / "9").write_text("v1\n{}")
    assert planned_batches(tmp_path) == [9, 10]
    assert committed_batches(tmp_path) == [9]
    assert batch_end(tmp_path, 10) == {"t:0": 10}
    assert batch_end(tmp_path, 3) == {}


@pytest.mark.parametrize("text", ["", "v1\n", 'v1\n{}\n{"t":{"0":', "v1\n{}\n[1]", 'v1\n{}\n{"t:0":null}'])
def test_a_corrupt_file_is_named_with_the_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "4").write_text(text)
    with pytest.raises(CheckpointError, match=r"/offsets/4 cannot be read: .*\. Restore the folder"):
        batch_end(tmp_path, 4)


def test_no_checkpoint_is_an_empty_one(tmp_path: Path) -> None:
    assert planned_batches(tmp_path / "nowhere") == []
