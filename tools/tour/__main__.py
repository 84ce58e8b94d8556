"""Runs the tours: `python -m tools.tour [TOUR or PAGE ...] [--programs FOLDER]`. The last line is `N passed, N failed`.

A page can be given by its path. `--programs` is the bin folder of the environment to try, by default of this one.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from tools.tour.network import enter
from tools.tour.run import Step, run_page
from tools.tour.session import Session

_ROOT = Path(__file__).parents[2]
_LINKED = ("examples",)


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    tours = tomllib.loads(Path(__file__).with_name("tours.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(prog="python -m tools.tour")
    parser.add_argument(
        "names", nargs="*", default=list(tours), metavar="TOUR|PAGE", help=f"{', '.join(tours)}, or a page"
    )
    parser.add_argument(
        "--programs", type=Path, default=Path(sys.executable).parent, help="bin folder of the environment"
    )
    options = parser.parse_args(given)
    unknown = [name for name in options.names if name not in tours and not (_ROOT / name).is_file()]
    if unknown:
        parser.error(f"no such tour or page: {', '.join(unknown)}")
    if not enter(given):
        print("no network namespace: the tour uses this machine's ports 19092 to 19103")
    steps = [
        step
        for name in options.names
        for page in tours.get(name, {"pages": [name]})["pages"]
        for step in _run(_ROOT / page, options.programs)
    ]
    failed = sum(1 for step in steps if step.fault)
    print(f"{len(steps) - failed} passed, {failed} failed")
    return 1 if failed or not steps else 0


def _run(page: Path, programs: Path) -> list[Step]:
    folder = Path(tempfile.mkdtemp(prefix="signalbox-tour-"))
    session = Session(folder, programs.absolute(), [_ROOT / name for name in _LINKED])
    try:
        return run_page(page, session, _say)
    finally:
        session.close()
        shutil.rmtree(folder, ignore_errors=True)


def _say(step: Step) -> None:
    print(f"{'FAILED' if step.fault else 'passed'} {step.seconds:5.1f} s  {step.name}", flush=True)
    if step.fault:
        print("    " + step.fault.replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    sys.exit(main())
