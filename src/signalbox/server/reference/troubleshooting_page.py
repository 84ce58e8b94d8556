"""Renders docs/troubleshooting.md from docs/troubleshooting.toml: symptoms, log messages by area, start errors.

tests/server/reference/test_troubleshooting_page.py compares the file with the messages in the source.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("docs/troubleshooting.toml")

_INTRODUCTION = """# Troubleshooting

For operators: what clients see, what the log says, the cause, and what to do. Search this page for the part of a log
line that does not change; `<...>` stands for what changes. The page has every message at WARNING, ERROR and CRITICAL. A
line is `time level node logger: message`; `LOG_LEVEL` (`DEBUG`, `INFO`, `WARNING`, `ERROR`) and `LOG_FORMAT` (`text`,
`json`) in the environment change level and format.
`signalbox check server.properties` finds errors of the configuration before the start.
"""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a client or an operator sees. `log`: parts of the messages to look for."""

    name: str
    sees: str
    cause: str
    action: str
    log: tuple[str, ...]
    link: str = ""


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One log message; placeholders are `<name>`. `link` is a page (and section) below docs/."""

    area: str
    log: str
    level: str
    cause: str
    action: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class StartRow:
    """A part of a start error, and the keys to change."""

    group: str
    text: str
    keys: tuple[str, ...]
    action: str


@dataclass(frozen=True, slots=True)
class Troubleshooting:
    """The file's content. `areas`: the introduction of each area, in the order of the page."""

    symptoms: tuple[Symptom, ...]
    areas: dict[str, str]
    messages: tuple[MessageRow, ...]
    starts: tuple[StartRow, ...]


def read_troubleshooting(path: Path = TABLE) -> Troubleshooting:
    """Returns the rows of the file."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return Troubleshooting(
        tuple(Symptom(**{**each, "log": tuple(each["log"])}) for each in entries["symptom"]),
        {area["name"]: area.get("about", "") for area in entries["area"]},
        tuple(MessageRow(area["name"], **each) for area in entries["area"] for each in area["message"]),
        tuple(StartRow(**{**each, "keys": tuple(each["keys"])}) for each in entries["start"]),
    )


def troubleshooting_page() -> str:
    """Returns the text of docs/troubleshooting.md."""
    table = read_troubleshooting()
    lines = [_INTRODUCTION, *_index(table)]
    lines += ["", "## Symptoms"]
    for symptom in table.symptoms:
        lines += ["", *_symptom(symptom)]
    for area, about in table.areas.items():
        lines += ["", f"## Log messages: {area.lower()}", *([""] if about else []), *([about] if about else []), ""]
        lines += ["| log message | level | cause | what to do |", "|---|---|---|---|"]
        lines += [_message(row) for row in table.messages if row.area == area]
    lines += [
        "",
        "## Start errors",
        "",
        "A start reports all faults at once: `<key> (<value>): <what is wrong>. <remedy>`.",
    ]
    lines.append("The table has the usual ones. The exit code is 2 for faults of the configuration, else 1.")
    for group in dict.fromkeys(row.group for row in table.starts):
        lines += ["", f"### {group}", "", "| message | key | what to do |", "|---|---|---|"]
        lines += [_start(row) for row in table.starts if row.group == group]
    return "\n".join(lines) + "\n"


def _index(table: Troubleshooting) -> Iterator[str]:
    yield "| symptom | log messages of |"
    yield "|---|---|"
    for symptom in table.symptoms:
        areas = dict.fromkeys(row.area for row in table.messages if any(part in row.log for part in symptom.log))
        links = ", ".join(f"[{area.lower()}](#{_anchor(f'Log messages: {area}')})" for area in areas)
        yield f"| [{symptom.name}](#{_anchor(symptom.name)}) | {links} |"
    yield "| The node does not start | [start errors](#start-errors) |"


def _symptom(symptom: Symptom) -> Iterator[str]:
    yield f"### {symptom.name}"
    yield ""
    yield f"- Seen: {symptom.sees}"
    yield f"- Cause: {symptom.cause}"
    yield f"- What to do: {symptom.action}{_more(symptom.link)}"
    yield f"- Log: {', '.join(f'`{part}`' for part in symptom.log)}"


def _message(row: MessageRow) -> str:
    return f"| {_code(row.log)} | {row.level} | {_cell(row.cause)} | {_cell(row.action)}{_more(row.link)} |"


def _start(row: StartRow) -> str:
    keys = ", ".join(f"`{key}`" for key in row.keys)
    return f"| {_code(row.text)} | {keys} | {_cell(row.action)} |"


def _more(link: str) -> str:
    page = link.partition("#")[0].rpartition("/")[2].removesuffix(".md")
    return f" See [{page}]({link})." if link else ""


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(heading: str) -> str:
    """The anchor that Markdown viewers give a heading."""
    return "".join(char for char in heading.lower().replace(" ", "-") if char.isalnum() or char in "-_")
