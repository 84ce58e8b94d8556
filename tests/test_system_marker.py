"""Tests that need more than Python are left out of `make unit`, whatever brings the need."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tests.system_marker import needs_system


@pytest.mark.parametrize(
    ("path", "fixtures", "expected"),
    [
        ("tests/system/test_interop.py", set(), True),
        ("tests/system/pipeline/test_killed_driver.py", {"tmp_path"}, True),
        ("tests/pipeline/test_engine.py", {"engine", "spark"}, True),
        ("tests/pipeline/test_topic_client.py", {"topics"}, True),
        ("tests/pipeline/test_offsets.py", {"tmp_path"}, False),
        ("tests/controller/topics/test_topic_control.py", {"topics"}, False),
    ],
)
def test_by_folder_or_fixture(path: str, fixtures: set[str], expected: bool) -> None:
    assert needs_system(PurePath(path), frozenset(fixtures)) is expected
