"""The worked examples of the test kit, in a process as a user would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "testkit"
EXAMPLES = sorted(path.name for path in FOLDER.glob("test_*.py"))

pytestmark = [pytest.mark.system, pytest.mark.spec("R7"), pytest.mark.timeout(400)]


@cache
def output() -> str:
    options = ["-p", "no:cacheprovider", "-v", "--timeout=90", "--rootdir", str(FOLDER)]
    command = [sys.executable, "-m", "pytest", *options, str(FOLDER)]
    done = subprocess.run(command, cwd=FOLDER, env=dict(os.environ), capture_output=True, text=True, timeout=390)
    return done.stdout + done.stderr


def test_there_are_twelve() -> None:
    assert len(EXAMPLES) == 12


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_passes(name: str) -> None:
    results = re.findall(rf"^{name}::\S+ (\w+)", output(), re.MULTILINE)
    assert results, output()
    assert set(results) == {"PASSED"}, output()
