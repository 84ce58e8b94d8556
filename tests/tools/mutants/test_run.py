"""The tests of a file run once for each mutant, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
SOURCE = "def larger(one, other):\n    return one > other\n\n\ndef never(one):\n    return one + 1\n"
RUN = """
import sys
from pathlib import Path
from tools.mutants.line_tests import LineTests, TestsFailed
from tools.mutants.mutations import number_of_mutants
from tools.mutants.run import run_file
root = Path(sys.argv[1])
sys.path[:0] = [str(root / "src"), str(root)]
count = number_of_mutants(root, "src/larger.py")
test = f"test_larger.py::{sys.argv[2]}"
line_tests = LineTests({2: {test}}, {test: 0.1})
try:
    result = run_file(root, "src/larger.py", "test_larger.py", list(range(count)), line_tests, float(sys.argv[3]))
except TestsFailed as error:
    print("failed", error)
else:
    changes = [each.change for each in result.survivors if each.line == 2]
    print(result.drawn, result.untested, result.unchanged, changes, *result.failing)
    assert all("assert" in reason for reason in result.failing.values()), result.failing
"""


def run(folder: Path, body: str, test: str = "test_it", shortest_timeout_s: float = 10.0) -> str:
    (folder / "src").mkdir()
    (folder / "src" / "larger.py").write_text(SOURCE)
    (folder / "test_larger.py").write_text(f"from larger import larger\n\n\ndef test_it():\n    {body}\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder), test, str(shortest_timeout_s)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assert larger(2, 1) and not larger(1, 1)", "3 2 0 []"),
        ("assert larger(2, 1)", "3 2 0 ['- return one > other\\n+ return one >= other']"),
        (
            "assert larger(1, 2)",
            "3 3 0 ['- return one > other\\n+ return one >= other'] test_larger.py::test_it",
        ),
    ],
)
def test_a_mutant_is_killed_or_survives(tmp_path: Path, body: str, expected: str) -> None:
    assert run(tmp_path, body) == expected


def test_a_test_that_is_not_found_is_an_error(tmp_path: Path) -> None:
    assert "pytest runs no test (exit code 4)" in run(tmp_path, "assert larger(2, 1)", "test_other")


def test_a_mutant_that_never_ends_is_killed(tmp_path: Path) -> None:
    body = "\n    ".join(("import time", "if larger(1, 1):", "    time.sleep(1_000)", "assert larger(2, 1)"))
    assert run(tmp_path, body, shortest_timeout_s=2.0) == "3 2 0 []"
