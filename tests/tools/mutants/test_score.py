"""The score: killed mutants divided by all but the equivalent ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutants.mutations import Mutant
from tools.mutants.run import FileResult
from tools.mutants.score import Score, read_equivalents, removed_lines

_ROOT = Path(__file__).parents[3]

ROW = '''
[[equivalent]]
path = "a.py"
function = "larger"
change = """
- if one > other:
+ if one >= other:"""
reason = "they are never equal"
'''


def mutant(number: int) -> Mutant:
    return Mutant("a.py", number, "larger", f"- {number}\n+ {number + 1}", "")


def scored(drawn: int, alive: int, equivalent: int = 0, unchanged: int = 0) -> Score:
    reasons = {("a.py", "larger", mutant(number).change): "why" for number in range(equivalent)}
    score = Score(reasons)
    score.add(FileResult("a.py", drawn, [mutant(number) for number in range(alive)], 3, unchanged))
    return score


def test_killed_by_all_but_equivalents() -> None:
    score = scored(drawn=110, alive=20, equivalent=5, unchanged=5)
    assert score.percent == 85.0
    assert score.is_enough()
    assert score.last_line() == "score 85.0 %"
    assert score.as_json()["survivors"][0] == {
        "path": "a.py",
        "line": 5,
        "function": "larger",
        "change": "- 5\n+ 6",
    }
    assert list(score.lines())[-1] == (
        "110 mutants: 85 killed, 15 not killed (3 in lines that no test runs), 5 equivalent, 5 that change no code"
    )


def test_too_few_killed_or_too_many_equivalents_are_not_enough() -> None:
    assert not scored(drawn=100, alive=16).is_enough()
    assert not scored(drawn=100, alive=6, equivalent=6).is_enough()
    assert not Score({}).is_enough(), "nothing was drawn"


def test_a_test_that_fails_without_a_mutant_is_no_success() -> None:
    score = scored(drawn=100, alive=1)
    score.add(FileResult("b.py", 1, [], failing={"tests/test_b.py::test_it": "E  one\nE  two"}))
    assert not score.is_enough()
    lines = list(score.lines())
    at = lines.index("tests/test_b.py::test_it fails without a mutant and was not used:")
    assert lines[at + 1 : at + 3] == ["    E  one", "    E  two"]


def test_survivors_are_listed_with_their_place() -> None:
    assert list(scored(drawn=10, alive=1).lines())[:3] == ["a.py:0 larger", "    - 0", "    + 1"]


def test_rows_have_a_reason_and_match_the_source() -> None:
    for (path, function, change), reason in read_equivalents().items():
        text = (_ROOT / path).read_text()
        assert f"def {function}(" in text, f"{path} has no function {function} any more"
        lines = {line.strip() for line in text.splitlines()}
        removed = removed_lines(change)
        assert removed, (path, change)
        assert set(removed) <= lines, f"{path} has no such line any more: {removed}"
        assert len(reason) > 20, f"{path}: {reason}"


def test_a_row_is_found_by_its_change(tmp_path: Path) -> None:
    file = tmp_path / "equivalents.toml"
    file.write_text(ROW)
    change = "- if one > other:\n+ if one >= other:"
    assert read_equivalents(file) == {("a.py", "larger", change): "they are never equal"}
    assert removed_lines(change) == ["if one > other:"]


def test_a_row_without_a_reason_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "equivalents.toml"
    file.write_text(ROW.replace("reason", "because"))
    with pytest.raises(KeyError):
        read_equivalents(file)
