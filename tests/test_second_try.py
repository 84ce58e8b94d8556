from __future__ import annotations

from pathlib import Path

import pytest

from tests.second_try import MOST, _pytest, run

ONCE = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("number", range({count}))
def test_fails_once(number):
    mark = Path(r"{folder}") / str(number)
    seen = mark.exists()
    mark.touch()
    assert seen
def test_holds():
    pass
"""


def judged(folder: Path, source: str) -> tuple[int, list[str]]:
    """The exit code and what was said of a file of tests."""
    file = folder / "test_it.py"
    file.write_text(source)
    said: list[str] = []
    return run([str(file), "-q", "-p", "no:signalbox"], folder / "cache", _pytest, said.append), said


@pytest.mark.parametrize(("count", "code", "words"), [(0, 0, []), (MOST, 0, ["tried again", "passed"])])
def test_what_holds_at_last_holds_and_is_named(tmp_path: Path, count: int, code: int, words: list[str]) -> None:
    found, said = judged(tmp_path, ONCE.format(count=count, folder=tmp_path))
    assert found == code, said
    assert len(said) == len(words)
    assert all(word in text and "test_fails_once[2]" in text for word, text in zip(words, said, strict=True))


def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    found, said = judged(tmp_path, ONCE.format(count=MOST + 1, folder=tmp_path))
    assert found == 1
    assert said == [f"{MOST + 1} tests failed: more than {MOST} are not tried again"]


def test_what_fails_twice_fails(tmp_path: Path) -> None:
    found, said = judged(tmp_path, "def test_never():\n    assert False\n")
    assert found == 1
    assert "failed: " in said[-1]
    assert "test_never" in said[-1]


def test_a_run_that_goes_wrong_is_not_tried_again(tmp_path: Path) -> None:
    found, said = judged(tmp_path, "def broken(:\n")
    assert (found, said) == (2, [])
