"""The tests of a file run once for each mutant, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
SOURCE = "def larger(one, other):\n    return one > other\n"
RUN = """
import sys
from pathlib import Path
from tools.mutants.mutations import number_of_mutants
from tools.mutants.run import BaselineError, run_file
root = Path(sys.argv[1])
sys.path[:0] = [str(root / "src"), str(root)]
count = number_of_mutants(root, "src/larger.py")
try:
    result = run_file(root, "src/larger.py", "test_larger.py", list(range(count)))
except BaselineError as error:
    print("baseline", error)
else:
    print(result.drawn, result.unchanged, [mutant.change for mutant in result.survivors])
"""


def run(folder: Path, test: str) -> str:
    (folder / "src").mkdir()
    (folder / "src" / "larger.py").write_text(SOURCE)
    (folder / "test_larger.py").write_text(f"from larger import larger\n\n\ndef test_it():\n    {test}\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder)], cwd=_ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("assert larger(2, 1) and not larger(1, 1)", "1 0 []"),
        ("assert larger(2, 1)", "1 0 ['- return one > other\\n+ return one >= other']"),
        ("assert larger(1, 2)", "baseline test_larger.py fails without a mutant"),
    ],
)
def test_a_mutant_is_killed_or_survives(tmp_path: Path, test: str, expected: str) -> None:
    assert run(tmp_path, test) == expected


def test_a_file_without_a_test_is_an_error(tmp_path: Path) -> None:
    assert "pytest runs no test (exit code 5)" in run(tmp_path, "pass\n\n\ntest_it.__test__ = False")
