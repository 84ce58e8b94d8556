"""The command: it draws, runs and prints the score at the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[3]
SOURCE = "src/signalbox/client/cluster/rebootstrap.py"


def test_a_few_mutants_of_one_file() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.mutants", "--mutants", "2", "--seed", "5", SOURCE],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    lines = done.stdout.splitlines()
    assert lines[1].startswith("seed 5: 2 of "), done.stderr
    assert lines[-1].startswith("score ")
    written = json.loads((_ROOT / "build" / "mutants.json").read_text())
    assert (written["seed"], written["mutants"]) == (5, 2)
