"""The debt list shrinks: new and larger excesses are problems, and so are entries that are larger than needed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.architecture import __main__ as command
from tests.architecture.debt import load_debt, problems_of, render_debt
from tests.architecture.exceptions import load_exceptions, unused_patterns
from tests.architecture.excess import Excess, excess_at
from tests.architecture.source_tree import SourceFile

EXCESS = excess_at("src/a.py", 7, "7 lines", line=3)


def test_an_equal_entry_is_in_order() -> None:
    assert problems_of([EXCESS], {"src/a.py": 7}) == []


def test_a_new_excess_is_a_problem() -> None:
    assert problems_of([EXCESS], {}) == ["src/a.py:3: 7 lines"]


def test_a_larger_excess_is_a_problem() -> None:
    assert problems_of([EXCESS], {"src/a.py": 6}) == ["src/a.py:3: 7 lines (debt.toml accepts 6, there are 7)"]


def test_a_larger_entry_must_be_lowered() -> None:
    (problem,) = problems_of([EXCESS], {"src/a.py": 8})
    assert "src/a.py: lower the entry from 8 to 7" in problem


def test_an_entry_without_excess_must_be_removed() -> None:
    (problem,) = problems_of([], {"src/a.py": 8})
    assert "src/a.py: remove the entry" in problem


def test_the_rendered_list_is_read_back() -> None:
    assert tomllib.loads(render_debt({"sizes": [EXCESS], "words": []})) == {"sizes": {"src/a.py": 7}, "words": {}}


def test_an_exception_that_matches_no_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "exceptions.toml").write_text('[sizes]\n"src/*" = "reason"\n"gone.py" = "reason"\n')
    patterns = load_exceptions("sizes", tmp_path / "exceptions.toml")
    assert unused_patterns(patterns, [SourceFile("src/a.py", "")]) == ["gone.py"]


@pytest.fixture
def debt_file(tmp_path: Path) -> Path:
    return tmp_path / "debt.toml"


@pytest.fixture
def measured(debt_file: Path, monkeypatch: pytest.MonkeyPatch) -> list[Excess]:
    """The command with one check that returns this list, and with a debt list of its own: src/a.py = 7."""
    excesses: list[Excess] = []
    monkeypatch.setattr(command, "CHECKS", {"sizes": lambda files: excesses})
    monkeypatch.setattr(command, "repository_files", lambda: ())
    debt_file.write_text(render_debt({"sizes": [EXCESS]}))
    return excesses


def test_renew_lowers_a_figure(measured: list[Excess], debt_file: Path) -> None:
    measured.append(excess_at("src/a.py", 5, "5 lines"))
    assert command.main(["--renew"], debt_file) == 0
    assert load_debt(debt_file) == {"sizes": {"src/a.py": 5}}


def test_renew_raises_a_figure_only_if_growth_is_allowed(measured: list[Excess], debt_file: Path) -> None:
    measured.append(excess_at("src/a.py", 9, "9 lines"))
    assert command.main(["--renew"], debt_file) == 1
    assert load_debt(debt_file) == {"sizes": {"src/a.py": 7}}
    assert command.main(["--renew", "--allow-growth"], debt_file) == 0
    assert load_debt(debt_file) == {"sizes": {"src/a.py": 9}}


def test_the_list_is_restricted_to_paths(
    measured: list[Excess], debt_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured += [EXCESS, excess_at("tests/b.py", 9, "9 lines")]
    assert command.main(["src/"], debt_file) == 0
    assert capsys.readouterr().out == "src/a.py:3: 7 lines [sizes]\n"
