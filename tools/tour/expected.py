"""Whether a command did what the page shows. Widths do not count in its output: runs of spaces or rules are one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.tour.page import Command
from tools.tour.session import Result

ANY = "..."
_LINES = str.maketrans("┏┳┓┡╇┩├┼┤└┴┘━─", "+" * 12 + "--")


def fault_of(command: Command, result: Result, slowness: float = 1.0) -> str:
    """What differs from the page: the exit code, the output, or the time that a failure takes."""
    if result.exit_code is None:
        return f"still running after {result.seconds:.0f} s\n{result.printed}"
    if result.exit_code != command.exit_code:
        return f"exit code {result.exit_code}, the page has {command.exit_code}\n{result.printed}"
    if command.output is not None and not matches(command.output, result.printed):
        shown = "\n".join(command.output)
        return f"the page shows\n{shown}\n  it printed\n{result.printed.rstrip()}"
    if command.within_s and result.seconds > command.within_s * slowness:
        return (
            f"took {result.seconds:.1f} s, the page has {command.within_s} s (this machine: {slowness:.1f} times that)"
        )
    return ""


def matches(expected: Sequence[str], printed: str) -> bool:
    """Whether the printed text has the expected lines and no others; `...` stands for any text, alone for any lines."""
    pattern = "".join(_pattern(row) for row in expected)
    return re.fullmatch(pattern, "".join(f"{_plain(row)}\n" for row in printed.rstrip().splitlines())) is not None


def _pattern(row: str) -> str:
    if row.strip() == ANY:
        return r"(?:.*\n)*"
    return ".*".join(re.escape(_plain(part)) for part in _plain(row).split(ANY)) + r"\n"


def _plain(row: str) -> str:
    """The row without what depends on widths: spaces are one, and a line of a table is a dash."""
    ruled = re.sub(r"[+-]{3,}", "-", row.translate(_LINES).replace("┃", "│"))
    return re.sub(r"\s+", " ", ruled).strip()
