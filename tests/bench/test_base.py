"""A comparison with another commit: which figures it compares, and where its brokers import Signalbox from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.base import build, comparison, has_new_names, python_path


@pytest.mark.parametrize(
    ("costs", "ratio", "holds"),
    [
        ([(1.0, 1.0), (2.2, 2.0), (9.0, 1.0)], 1.1, True),
        ([(1.2, 1.0), (2.4, 2.0), (3.0, 3.0)], 1.2, False),
    ],
)
def test_the_median_of_the_rounds_ratios_has_the_bound(
    costs: list[tuple[float, float]], ratio: float, holds: bool
) -> None:
    row = comparison("cost, us", costs)
    assert row.ratio == pytest.approx(ratio)
    assert row.holds is holds


@pytest.mark.parametrize("before", [None, "src"])
def test_brokers_of_the_base_import_it_from_its_folder(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    with python_path(Path("/base")):
        assert os.environ["PYTHONPATH"] == "/base"
    assert os.environ.get("PYTHONPATH") == before


def test_a_commit_that_does_not_exist_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="git"):
        build("no-such-commit", tmp_path / "base")


@pytest.mark.parametrize(
    ("file", "has"), [("common/old_keys.py", True), ("common/config/old_keys.py", True), ("common/limits.py", False)]
)
def test_only_a_base_without_the_prefix_gets_the_old_key_names(tmp_path: Path, file: str, has: bool) -> None:
    place = tmp_path / "signalbox" / file
    place.parent.mkdir(parents=True)
    place.write_text("")
    assert has_new_names(tmp_path) is has


def test_this_tree_as_a_base_has_the_new_names() -> None:
    assert has_new_names(Path(__file__).parents[2] / "src")
