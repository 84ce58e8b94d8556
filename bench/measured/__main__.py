"""`python -m bench.measured [--check]`: writes docs/measured.md; `--check` reports only whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.measured.page import render
from bench.measured.reasons import disagreements, read_reasons
from bench.measured.run_file import newest, read_history

PAGE = Path("docs/measured.md")


def main(arguments: list[str]) -> int:
    runs, reasons = newest(read_history()), read_reasons()
    problems, page = disagreements(runs, reasons), render(runs, reasons)
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page:
        problems.append(f"{PAGE} is not current: run python -m bench.measured")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
