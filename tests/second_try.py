"""Runs system tests; a few that fail are run once more, by themselves, and named: `python -m tests.second_try FOLDER`.

Real clients on two busy cores sometimes wait longer than any deadline that is worth having (docs/decisions/0028). What
fails twice fails, and more than `MOST` failures are no accident: they fail at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

MOST = 3
SOME_FAILED = 1  # pytest's exit code; every other one but 0 means that the run itself went wrong

Pytest = Callable[[Sequence[str]], int]


def run(arguments: Sequence[str], cache: Path, pytest: Pytest, say: Callable[[str], None] = print) -> int:
    """The exit code: of the first run, or of the second where that was worth a try. `cache` is pytest's, empty."""
    code = pytest([*arguments, "-o", f"cache_dir={cache}"])
    if code != SOME_FAILED:
        return code
    failed = sorted(json.loads((cache / "v/cache/lastfailed").read_text()))
    if len(failed) > MOST:
        say(f"{len(failed)} tests failed: more than {MOST} are not tried again")
        return code
    say("failed once, tried again: " + ", ".join(failed))
    code = pytest([*arguments, "--last-failed", "-o", f"cache_dir={cache}"])
    say(f"on the second try: {'passed' if code == 0 else 'failed'}: " + ", ".join(failed))
    return code


def _pytest(arguments: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        sys.exit(run(sys.argv[1:], Path(empty), _pytest))
