"""The debt list `debt.toml`: what is over a limit today, per check, with its figure. Entries only shrink.

An excess without an entry, or larger than its entry, is new debt. An entry that is larger than its excess, or has no
excess, is out of date: it must be lowered, so that the debt cannot grow back.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.architecture.excess import Excess

DEBT_FILE = Path(__file__).with_name("debt.toml")
RENEW = "python -m tests.architecture --renew"
_HEAD = f"# What is over a limit today. Figures only shrink: `{RENEW}` writes this file (CONTRIBUTING.md).\n"

Figures = Mapping[str, int]


def load_debt(path: Path = DEBT_FILE) -> dict[str, dict[str, int]]:
    """Check -> key -> figure."""
    return tomllib.loads(path.read_text()) if path.exists() else {}


def problems_of(excesses: Sequence[Excess], debt: Figures) -> list[str]:
    """What has to be done so that excesses and debt agree: a line per place."""
    return [*new_debt(excesses, debt), *_outdated_entries(excesses, debt)]


def new_debt(excesses: Iterable[Excess], debt: Figures) -> list[str]:
    """The places of each excess that has no entry or is larger than it."""
    problems = []
    for excess in excesses:
        accepted = debt.get(excess.key, 0)
        if excess.figure > accepted:
            was = f" (debt.toml accepts {accepted}, there are {excess.figure})" if accepted else ""
            problems += [f"{place}{was}" for place in excess.places]
    return problems


def _outdated_entries(excesses: Iterable[Excess], debt: Figures) -> list[str]:
    figures = {excess.key: excess.figure for excess in excesses}
    problems = []
    for key, accepted in debt.items():
        figure = figures.get(key, 0)
        if figure < accepted:
            what = f"lower the entry from {accepted} to {figure}" if figure else "remove the entry"
            problems.append(f"tests/architecture/debt.toml: {key}: {what} ({RENEW})")
    return problems


def render_debt(checks: Mapping[str, Sequence[Excess]]) -> str:
    """The text of `debt.toml` for these excesses."""
    text = _HEAD
    for check, excesses in checks.items():
        rows = "".join(f'"{excess.key}" = {excess.figure}\n' for excess in sorted(excesses, key=lambda row: row.key))
        text += f"\n[{check}]\n{rows}"
    return text
