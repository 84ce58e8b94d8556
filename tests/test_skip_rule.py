"""A skip that no row permits fails the run in CI, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skip_rule import AllowedSkip, read_allowed_skips, unexpected_skips

_SKIPPING = """
import pytest

def test_that_skips():
    pytest.skip("no such thing here")

def test_that_passes():
    assert True
"""


def test_only_rows_with_test_and_reason_allow() -> None:
    allowed = [AllowedSkip("tests/a/test_b.py", "no such thing")]
    skipped = [
        ("tests/a/test_b.py::test_c", "no such thing here"),
        ("tests/a/test_b.py::test_c", "tired"),
        ("tests/a/test_d.py::test_c", "no such thing here"),
    ]
    assert unexpected_skips(skipped, allowed) == skipped[1:]


def test_rows_say_why(tmp_path: Path) -> None:
    file = tmp_path / "allowed.toml"
    file.write_text('[[skip]]\ntest = "tests/a"\nreason = "r"\n')
    with pytest.raises(ValueError, match="without a why"):
        read_allowed_skips(file)
    assert read_allowed_skips()


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_in_ci_a_skip_is_a_failure(tmp_path: Path, ci: str, code: int) -> None:
    (tmp_path / "test_skipping.py").write_text(_SKIPPING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", f"--rootdir={tmp_path}", str(tmp_path)]
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == code, run.stdout + run.stderr
    assert ("not allowed to skip" in run.stdout) == bool(code)
