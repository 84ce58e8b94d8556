"""`python -m tools.fuzz [--frames 1000000] [--seed n] [--folder build/fuzz]`.

Exit code 0 when every check passed; the last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
from pathlib import Path

from tools.fuzz.run import Check, fuzz_broker


def main(arguments: list[str]) -> int:
    """Runs both brokers and prints the checks."""
    parser = argparse.ArgumentParser(prog="tools.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000, help="how many, over both brokers")
    parser.add_argument("--seed", type=int, default=None, help="which frames in which order; drawn if not given")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="emptied first, kept afterwards")
    given = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    _say(f"seed {seed}, {given.frames} frames; brokers and logs in {given.folder}")
    shutil.rmtree(given.folder, ignore_errors=True)
    checks: list[Check] = []
    for name in ("open", "guarded"):
        checks += fuzz_broker(name, seed, given.frames // 2, given.folder, _say)
    for check in checks:
        _say(f"{'ok  ' if check.passed else 'FAIL'} {check.name}{': ' + check.detail if check.detail else ''}")
    failed = sum(not check.passed for check in checks)
    _say(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
