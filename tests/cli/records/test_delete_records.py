"""`signalbox delete-records`: new first offsets."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_records_below_an_offset_and_all_of_a_partition(run: Any) -> None:
    run("topic", "create", "trimmed", "--partitions", "2")
    for partition in "01":
        run("produce", "-t", "trimmed", "-p", partition, lines="a\nb\nc\n")
    deleted = run("delete-records", "trimmed", "0:1", "1:end", "--json")
    assert json.loads(deleted.stdout) == [
        {"topic": "trimmed", "partition": 0, "first_offset": 1},
        {"topic": "trimmed", "partition": 1, "first_offset": 3},
    ]
    assert run("consume", "-t", "trimmed", "-e").stdout == "b\nc\n"


@pytest.mark.parametrize(
    "text", ["0", "x:1", "0:-3", ":1", "0:all", "0:9223372036854775808", "2147483648:1", "\u0660:1"]
)
def test_what_is_no_offset_is_rejected(run: Any, text: str) -> None:
    result = run("delete-records", "trimmed", text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"expected PARTITION:OFFSET or PARTITION:end, not '{text}'" in result.stderr


def test_an_offset_beyond_the_end_is_rejected(run: Any) -> None:
    run("topic", "create", "short", "--partitions", "1")
    result = run("delete-records", "short", "0:5")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "OFFSET_OUT_OF_RANGE" in result.stderr
    assert "offset is not within the range" in result.stderr.replace("\n", " ")
