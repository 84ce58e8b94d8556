"""A program of the ecosystem, the row that it gets, and the run of all of them."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

PASSED, FAILED = "passed", "FAILED"
_NAME, _VERSION = 16, 26


@dataclass(frozen=True, slots=True)
class Program:
    """`run` gets an empty folder, and returns what it counted; it raises if what it checks does not hold. `checked` is
    what a passed row shows."""

    name: str
    version: Callable[[], str]
    checked: str
    run: Callable[[Path], str]


def run_programs(programs: Iterable[Program], folder: Path, say: Callable[[str], None]) -> int:
    """Runs each in a folder of its own, says its row, and at the end how many passed and failed. Returns the number of
    those that failed."""
    results = [_run(program, folder / program.name, say) for program in programs]
    say(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return len(results) - sum(results)


def _run(program: Program, folder: Path, say: Callable[[str], None]) -> bool:
    folder.mkdir(parents=True)
    begin = time.monotonic()
    version = "?"
    try:
        version = program.version()
        counted = program.run(folder)
    except Exception as failure:
        (folder / "failure.txt").write_text(traceback.format_exc())
        words = " ".join(str(failure).split()) or type(failure).__name__
        say(_row(program, version, FAILED, f"{words[:300]} ({folder / 'failure.txt'})"))
        return False
    say(_row(program, version, PASSED, f"{counted}, {time.monotonic() - begin:.0f} s"))
    return True


def _row(program: Program, version: str, result: str, counted: str) -> str:
    return f"{program.name:{_NAME}}  {version:{_VERSION}}  {result}  {program.checked}: {counted}"
