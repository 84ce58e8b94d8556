"""`python -m tests.architecture` lists everything over a limit, the accepted debt included.

`--renew` writes `debt.toml` from what is measured; it exits with 1 and writes nothing if a figure would grow, unless
`--allow-growth` is there too. Paths as arguments restrict the list to files that begin with one of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.checks import CHECKS
from tests.architecture.debt import DEBT_FILE, load_debt, new_debt, render_debt
from tests.architecture.excess import Excess
from tests.architecture.source_tree import repository_files


def main(arguments: Sequence[str] | None = None, debt_file: Path = DEBT_FILE) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.architecture")
    parser.add_argument("paths", nargs="*", help="list only files whose path begins so")
    parser.add_argument("--renew", action="store_true", help="write debt.toml")
    parser.add_argument("--allow-growth", action="store_true", help="with --renew: accept new and larger figures")
    options = parser.parse_args(arguments)
    measured = {name: check(repository_files()) for name, check in CHECKS.items()}
    if options.renew:
        return _renew(measured, debt_file, options.allow_growth)
    for name, excesses in measured.items():
        for place in (place for excess in excesses for place in excess.places):
            if place.path.startswith(tuple(options.paths) or ""):
                print(f"{place} [{name}]")
    return 0


def _renew(measured: dict[str, list[Excess]], debt_file: Path, allow_growth: bool) -> int:
    debt = load_debt(debt_file)
    grown = [line for name, excesses in measured.items() for line in new_debt(excesses, debt.get(name, {}))]
    if grown and not allow_growth:
        print("\n".join(grown))
        print("debt.toml is unchanged: mend these lines, or accept them with --allow-growth")
        return 1
    debt_file.write_text(render_debt(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
