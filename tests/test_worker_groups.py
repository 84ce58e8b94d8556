"""The tests that share a worker, and their order."""

from __future__ import annotations

from pathlib import Path

from tests.worker_groups import _FIRST, _TOGETHER, group_of, rank_of

ROOT = Path(__file__).parents[1]


def test_a_file_is_a_group_unless_its_package_is() -> None:
    assert group_of("tests/client/test_admin.py") == "tests/client/test_admin.py"
    assert (
        group_of("tests/pipeline/tables/test_run.py") == group_of("tests/pipeline/test_engine.py") == "tests/pipeline"
    )


def test_what_takes_long_begins_first() -> None:
    assert rank_of("tests/pipeline/test_engine.py") == 0
    assert rank_of("tests/client/test_admin.py") == len(_FIRST)


def test_every_path_exists() -> None:
    assert [each for each in (*_TOGETHER, *_FIRST) if not list(ROOT.glob(f"{each}*"))] == []
