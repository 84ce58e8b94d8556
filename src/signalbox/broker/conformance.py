"""The conformance table: reads `docs/conformance.toml`, checks it against the route table and renders it as a page.

A row has a short `reason` for the table of the page, and optional `details`, each a difference of its own, for a
numbered note below the table. `python -m signalbox.broker.conformance` writes docs/conformance.md; with `--check` it
only reports whether the page and the table are current (exit code 1 when not).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalbox.broker.routes import ROUTES
from signalbox.protocol.api_table import API_TABLE, ApiKey

STATUSES = ("served", "differs", "planned", "rejected")

MAX_REASON_CHARACTERS = 300  # a cell of the rendered table; longer text belongs into `details`

_NUMBERS = "[requirements.md](requirements.md) explains the numbers."


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """One API (`versions` as "low-high") or one requirement (`versions` is ""). `details` go into a note."""

    name: str
    versions: str
    status: str
    reason: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """Fields of an API's responses that differ from Apache Kafka's, found by `make wire-diff`.

    `fields` are paths in the response; `question` selects requests by their label. `*` matches any text in both.
    """

    api: str
    fields: tuple[str, ...]
    reason: str
    question: str = "*"


@dataclass(frozen=True, slots=True)
class Conformance:
    apis: tuple[ConformanceRow, ...]
    requirements: tuple[ConformanceRow, ...]
    answers: tuple[AnswerRow, ...] = ()


def read_conformance(path: Path) -> Conformance:
    """The table; ValueError names a row with an unknown status, a missing reason or a reason that is too long."""
    table = tomllib.loads(path.read_text())
    return Conformance(
        tuple(_row(entry, "name") for entry in table["api"]),
        tuple(_row(entry, "number") for entry in table["requirement"]),
        tuple(_answer_row(entry) for entry in table.get("answer", ())),
    )


def _row(entry: dict[str, Any], name_key: str) -> ConformanceRow:
    row = ConformanceRow(
        name=entry[name_key],
        versions=entry.get("versions", ""),
        status=entry["status"],
        reason=entry.get("reason", ""),
        details=tuple(entry.get("details", ())),
    )
    if row.status not in STATUSES:
        raise ValueError(f"{row.name}: {row.status!r} is not one of {', '.join(STATUSES)}")
    if not row.reason and (row.status != "served" or row.details):
        raise ValueError(f"{row.name}: {row.status} needs a reason")
    _check_length(row.name, row.reason)
    return row


def _check_length(name: str, reason: str) -> None:
    if len(reason) > MAX_REASON_CHARACTERS:
        raise ValueError(f"{name}: the reason has {len(reason)} characters, more than {MAX_REASON_CHARACTERS}")


def _answer_row(entry: dict[str, Any]) -> AnswerRow:
    if not entry.get("reason"):
        raise ValueError(f"{entry['api']}: fields that differ need a reason")
    _check_length(entry["api"], entry["reason"])
    return AnswerRow(entry["api"], tuple(entry["fields"]), entry["reason"], entry.get("question", "*"))


def served_ranges() -> dict[str, str]:
    """Name → versions of every API that the routes and the network serve."""
    keys = [row.api_key for row in ROUTES] + [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE]
    rows = [API_TABLE[key] for key in keys]
    return {
        row.name: str(row.min_version) if row.min_version == row.max_version else f"{row.min_version}-{row.max_version}"
        for row in rows
    }


def disagreements(conformance: Conformance) -> list[str]:
    """One message per difference between the table and the routes; empty when they agree."""
    listed = {row.name: row.versions for row in conformance.apis if row.status in ("served", "differs")}
    served = served_ranges()
    return [
        f"{name}: the table says {listed.get(name, 'nothing')}, the routes serve {served.get(name, 'nothing')}"
        for name in sorted(listed.keys() | served.keys())
        if listed.get(name) != served.get(name)
    ]


def render(conformance: Conformance) -> str:
    """The page as Markdown."""
    notes = _notes((*conformance.apis, *conformance.requirements))
    parts = (_INTRODUCTION, _apis(conformance, notes), _requirements(conformance, notes), _answers(conformance))
    return "\n".join(line for part in parts for line in part)


_INTRODUCTION = (
    "# Conformance with Apache Kafka",
    "",
    "The APIs of Apache Kafka 4.4, the requirements with gaps or differences, and the response fields that differ from",
    "Apache Kafka. Rendered from `docs/conformance.toml`; tests compare it with the code.",
    "[differences.md](differences.md) summarizes the differences for operators.",
    "",
    "*Internal listeners* are the inter-broker, control plane and controller listeners, which nodes use among each",
    "other; all other listeners are *client listeners*.",
    "",
    "| status | meaning |",
    "|---|---|",
    "| served | as in Apache Kafka |",
    "| differs | available, with the differences listed |",
    "| planned | not or not completely available yet |",
    "| rejected | not available: the API belongs to KRaft, which Signalbox does not have |",
)


def _notes(rows: Iterable[ConformanceRow]) -> dict[str, int]:
    """Row name → number of its note, counted through the page."""
    return {name: number for number, name in enumerate((row.name for row in rows if row.details), 1)}


def _anchor(row: ConformanceRow) -> str:
    """The anchor of a row's note. It does not contain the note's number, so that links from other pages stay valid."""
    return re.sub(r"[^a-z0-9]+", "-", row.name.lower()).strip("-")


def _with_note(row: ConformanceRow, notes: dict[str, int]) -> str:
    """The reason, with a link to the row's note if it has one."""
    return f"{row.reason} [Note {notes[row.name]}](#{_anchor(row)})" if row.details else row.reason


def _note_lines(rows: Iterable[ConformanceRow], notes: dict[str, int]) -> list[str]:
    lines: list[str] = []
    for row in rows:
        if row.details:
            heading = f'### <a id="{_anchor(row)}"></a>Note {notes[row.name]}: {row.name}'
            lines += ["", heading, "", *(f"- {detail}" for detail in row.details)]
    return lines


def _apis(conformance: Conformance, notes: dict[str, int]) -> list[str]:
    cells = (f"| {row.name} | {row.versions} | {row.status} | {_with_note(row, notes)} |" for row in conformance.apis)
    return [
        "",
        "## APIs",
        "",
        "| API | versions | status | what differs |",
        "|---|---|---|---|",
        *cells,
        *_note_lines(conformance.apis, notes),
    ]


def _requirements(conformance: Conformance, notes: dict[str, int]) -> list[str]:
    cells = (f"| {row.name} | {row.status} | {_with_note(row, notes)} |" for row in conformance.requirements)
    return [
        "",
        "## Requirements with gaps, differences or remarks",
        "",
        _NUMBERS,
        "",
        "| number | status | why |",
        "|---|---|---|",
        *cells,
        *_note_lines(conformance.requirements, notes),
    ]


def _answers(conformance: Conformance) -> list[str]:
    return [
        "",
        "## Response fields that differ from Apache Kafka 4.4.0",
        "",
        "Found by `make wire-diff`, which sends the same requests to a Signalbox broker and to an Apache Kafka broker.",
        "Ids, times and the wording of messages are not compared. `*` matches any text.",
        "",
        "| API | fields | why |",
        "|---|---|---|",
        *(f"| {row.api} | {_in_code(row.fields)} | {row.reason} |" for row in conformance.answers),
        "",
    ]


def _in_code(fields: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" if name else "(connection)" for name in fields)


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
