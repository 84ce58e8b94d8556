"""Values mended by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.rejected.listing import RejectedRecords, dead_path
from signalbox.pipeline.rejected.mended_values import MendedValueError, read_mended, unknown_positions, with_mended

pytestmark = pytest.mark.spec("P6")


def test_values_replace_those_of_their_records(tmp_path: Path) -> None:
    path = tmp_path / "mended.jsonl"
    path.write_text(
        '{"topic": "t", "partition": 0, "offset": 1, "reason": "not_json", "value": {"text": "{}"}}\n\n'
        '{"topic": "t", "partition": 0, "offset": 2, "value": {"base64": "/w=="}}\n'
        '{"topic": "t", "partition": 1, "offset": 1, "value": null}\n'
    )
    records = pa.table({"topic": ["t"] * 4, "partition": [0, 0, 0, 1], "offset": [0, 1, 2, 1], "value": [b"x"] * 4})
    mended = with_mended(records, read_mended(path))
    assert mended.column("value").to_pylist() == [b"x", b"{}", b"\xff", None]


def test_a_record_that_is_not_rejected_is_named(warehouse: Path) -> None:
    records = pa.table({"topic": ["t"] * 2, "partition": [0, 0], "offset": [0, 1], "value": [b"x"] * 2})
    write_deltalake(str(dead_path(warehouse, "t")), records)
    rejected = RejectedRecords(warehouse, "t")
    assert unknown_positions({}, rejected) == unknown_positions({("t", 0, 1): b""}, rejected) == []
    assert unknown_positions({("t", 0, 1): b"", ("t", 1, 1): b""}, rejected) == [("t", 1, 1)]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"topic": "t"}', '{"topic": "t", "partition": 0, "offset": 1, "value": {"base64": "?"}}'],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "mended.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(MendedValueError, match="line 2"):
        read_mended(path)
    with pytest.raises(MendedValueError, match="none cannot be read"):
        read_mended(tmp_path / "none")
