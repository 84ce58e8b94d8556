"""The conformance table: `docs/conformance.toml` read, checked against the route table and rendered as a page.

`python -m signalbox.broker.conformance` writes docs/conformance.md; with `--check` it only says whether the page and
the table are current (exit code 1 when not).
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalbox.broker.routes import ROUTES
from signalbox.protocol.api_table import API_TABLE, ApiKey

STATUSES = ("served", "differs", "planned", "refused")

_NUMBERS = "What each number asks stands in [requirements.md](requirements.md)."


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """One API (`versions` as "low-high") or one requirement (`versions` is "")."""

    name: str
    versions: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class Conformance:
    apis: tuple[ConformanceRow, ...]
    requirements: tuple[ConformanceRow, ...]


def read_conformance(path: Path) -> Conformance:
    """The table; ValueError names a row with an unknown status, or a difference without a reason."""
    table = tomllib.loads(path.read_text())
    return Conformance(
        tuple(_row(entry, "name") for entry in table["api"]),
        tuple(_row(entry, "number") for entry in table["requirement"]),
    )


def _row(entry: dict[str, Any], name_key: str) -> ConformanceRow:
    row = ConformanceRow(entry[name_key], entry.get("versions", ""), entry["status"], entry.get("reason", ""))
    if row.status not in STATUSES:
        raise ValueError(f"{row.name}: {row.status!r} is not one of {', '.join(STATUSES)}")
    if row.status != "served" and not row.reason:
        raise ValueError(f"{row.name}: {row.status} needs a reason")
    return row


def served_ranges() -> dict[str, str]:
    """Name → versions of every API that the routes and the network serve."""
    keys = [row.api_key for row in ROUTES] + [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]
    rows = [API_TABLE[key] for key in keys]
    return {
        row.name: str(row.min_version) if row.min_version == row.max_version else f"{row.min_version}-{row.max_version}"
        for row in rows
    }


def disagreements(conformance: Conformance) -> list[str]:
    """Where table and code differ, in words; empty when they agree."""
    listed = {row.name: row.versions for row in conformance.apis if row.status in ("served", "differs")}
    served = served_ranges()
    return [
        f"{name}: the table says {listed.get(name, 'nothing')}, the routes serve {served.get(name, 'nothing')}"
        for name in sorted(listed.keys() | served.keys())
        if listed.get(name) != served.get(name)
    ]


def render(conformance: Conformance) -> str:
    """The page."""
    lines = [
        "# Conformance",
        "",
        "Rendered from `docs/conformance.toml`; a test holds it against the code.",
        "",
        "## APIs",
        "",
        "| API | versions | status | what differs |",
        "|---|---|---|---|",
    ]
    lines += [f"| {row.name} | {row.versions} | {row.status} | {row.reason} |" for row in conformance.apis]
    lines += [
        "",
        "## Requirements that are not wholly there",
        "",
        _NUMBERS,
        "",
        "| number | status | why |",
        "|---|---|---|",
    ]
    lines += [f"| {row.name} | {row.status} | {row.reason} |" for row in conformance.requirements]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    docs = Path("docs")
    conformance = read_conformance(docs / "conformance.toml")
    problems = disagreements(conformance)
    page = docs / "conformance.md"
    if "--check" in arguments:
        if not page.exists() or page.read_text() != render(conformance):
            problems.append("docs/conformance.md is not current: run python -m signalbox.broker.conformance")
    else:
        page.write_text(render(conformance))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
