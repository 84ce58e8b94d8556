from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run


def test_help_names_the_options(tmp_path: Path) -> None:
    completed = run([sys.executable, "-m", "tools.fuzz", "--help"], capture_output=True, text=True, check=True)
    assert all(option in completed.stdout for option in ("--frames", "--seed", "--folder"))
