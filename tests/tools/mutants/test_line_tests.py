"""Each test is known with its lines; a mutant gets the tests of its lines, those of the mirroring file first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.mutants.line_tests import LONGEST_S, LineTests

_ROOT = Path(__file__).parents[3]
SOURCE = "def larger(one, other):\n    if one > other:\n        return True\n    return False\n"
TESTS = """
import pytest
from larger import larger

@pytest.fixture
def answer():
    return larger(1, 2)

def test_larger():
    assert larger(2, 1)

@pytest.mark.parametrize("other", [3, 4])
def test_smaller(answer, other):
    assert not answer
"""
RUN = """
import sys
from pathlib import Path
from tools.mutants.line_tests import TestsFailed, measure
root = Path(sys.argv[1])
sys.path[:0] = [str(root / "src"), str(root)]
try:
    found = measure(root, "tests", {"src/larger.py": "tests/test_larger.py"})["src/larger.py"]
except TestsFailed as error:
    print(error)
else:
    for line in (2, 3, 4):
        print(line, *sorted(found.by_line[line]))
    print(*sorted(found.seconds))
"""
MIRROR = "tests/test_one.py"
MINE, FAST, SLOW = f"{MIRROR}::test_mine", "tests/test_other.py::test_fast", "tests/test_other.py::test_slow"


def run(folder: Path, tests: str) -> list[str]:
    (folder / "src").mkdir()
    (folder / "src" / "larger.py").write_text(SOURCE)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_larger.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder)], cwd=_ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.splitlines()


def test_fixtures_count_and_parameters_do_not(tmp_path: Path) -> None:
    larger, smaller = "tests/test_larger.py::test_larger", "tests/test_larger.py::test_smaller"
    assert run(tmp_path, TESTS) == [
        f"2 {larger} {smaller}",
        f"3 {larger}",
        f"4 {smaller}",
        f"{larger} {smaller}",
    ]


def test_a_failing_test_is_an_error(tmp_path: Path) -> None:
    assert "without a mutant" in run(tmp_path, TESTS + "\ndef test_wrong():\n    assert larger(1, 2)\n")[0]


def test_the_mirroring_file_comes_first_then_the_fastest() -> None:
    tests = LineTests({4: {MINE, SLOW}, 5: {FAST}, 6: {SLOW}}, {MINE: 2.0, FAST: 0.1, SLOW: 1.0})
    assert tests.tests_of(range(4, 6), MIRROR) == [MINE, FAST, SLOW]
    assert tests.tests_of(range(6, 9), MIRROR) == [SLOW]
    assert tests.tests_of([99], MIRROR) == []


def test_tests_beyond_the_time_are_left_out_but_not_the_first() -> None:
    tests = LineTests({4: {MINE, FAST, SLOW}}, {MINE: LONGEST_S + 1, FAST: 0.1, SLOW: 1.0})
    assert tests.tests_of([4], MIRROR) == [MINE]
    tests.seconds[MINE] = LONGEST_S - 0.5
    assert tests.tests_of([4], MIRROR) == [MINE, FAST]


def test_two_runs_are_added() -> None:
    tests = LineTests({4: {MINE}}, {MINE: 1.0})
    tests.add(LineTests({4: {FAST}, 5: {FAST}}, {FAST: 0.1}))
    assert tests.by_line == {4: {MINE, FAST}, 5: {FAST}}
    assert tests.seconds == {MINE: 1.0, FAST: 0.1}
