"""Where the words of this project stand: its names, log messages, keys, metrics, command line and pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

from signalbox.cli.main import app
from signalbox.server.metrics.metric_table.own import OWN_ROWS
from signalbox.server.reference.pages import CONFIG_SECTIONS

OWN_PREFIX = "signalbox."
"""Configuration keys that Kafka does not have."""
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log", "failed"})
# snake_case and CamelCase are divided; a plural of capitals (ACLs) and an escape (\n) are no words of their own.
_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ESCAPE = re.compile(
    r"\\[a-z]|%[-+ #0-9.]*[a-zA-Z](?![a-zA-Z])|\b0x[0-9a-fA-F]+\b|\b[0-9]+[a-zA-Z]+\b|\bU\+[0-9A-F]+|https?://\S+"
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{7,40}\b"  # a commit
)
SHORTEST = 3
"""Letters: units and placeholders (ms, kb, x) are shorter."""
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>", re.MULTILINE | re.DOTALL)
_FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


class Word(NamedTuple):
    """`text` in lower case; `place` is a file with its line, a key, a metric or a command."""

    text: str
    place: str


def words_in(text: str, place: str) -> Iterator[Word]:
    """The words of a sentence or of a name, without addresses, commits, escapes and format directives."""
    for match in _WORD.findall(_ESCAPE.sub(" ", text)):
        word = match.removesuffix("s") if match[:-1].isupper() and match.endswith("s") else match
        if len(word) >= SHORTEST:
            yield Word(word.lower(), place)


def all_words(root: Path) -> Iterator[Word]:
    """Every word that the repository `root` shows to a user, with its place, as often as it stands there."""
    source = root / "src" / "signalbox"
    for file in sorted(source.rglob("*.py")):
        yield from source_words(file.read_text(encoding="utf-8"), file.relative_to(root).as_posix())
    for page in sorted(chain(root.glob("*.md"), (root / "docs").rglob("*.md"))):
        yield from page_words(page.read_text(encoding="utf-8"), page.relative_to(root).as_posix())
    yield from key_words()
    yield from metric_words()
    yield from command_words(typer.main.get_command(app), "signalbox")


def source_words(text: str, place: str) -> Iterator[Word]:
    """The public names that a file defines, its own name, and the messages that it logs."""
    yield from words_in(Path(place).stem, place)
    for node in ast.walk(ast.parse(text)):
        at = f"{place}:{getattr(node, 'lineno', 1)}"
        if isinstance(node, ast.ClassDef):
            yield from _public(node.name, at)
        elif isinstance(node, _FunctionDef) and not node.name.startswith("_"):
            yield from _public(node.name, at)
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                yield from _public(argument.arg, at)
        elif isinstance(node, ast.Call):
            yield from _logged(node, at)


def _public(name: str, place: str) -> Iterator[Word]:
    if not name.startswith("_"):
        yield from words_in(name, place)


def _logged(call: ast.Call, place: str) -> Iterator[Word]:
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in _LOG_METHODS:
        return
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield from words_in(argument.value, place)


def page_words(text: str, place: str) -> Iterator[Word]:
    """The words of a page's sentences; code, addresses of links and HTML are passed over."""
    prose = _CODE.sub(lambda match: "\n" * match[0].count("\n") + " ", text)
    for number, line in enumerate(prose.splitlines(), 1):
        yield from words_in(line, f"{place}:{number}")


def key_words() -> Iterator[Word]:
    """The words of the configuration keys that Kafka does not have."""
    for row in chain.from_iterable(table for _, table in CONFIG_SECTIONS):
        if row.name.startswith(OWN_PREFIX):
            yield from words_in(row.name, f"key {row.name}")


def metric_words() -> Iterator[Word]:
    """The words of the metrics that Kafka does not have; on the metrics page they stand in lower case, as one word."""
    for row in OWN_ROWS:
        for part in (row.name.group, row.name.type, row.name.name, *row.labels):
            yield from words_in(part, f"metric {row.mbean}")


def command_words(command: Any, path: str) -> Iterator[Word]:
    """The words of a command's name, options and help, and of its sub-commands."""
    yield from words_in(f"{command.name or ''} {command.help or ''}", path)
    for parameter in command.params:
        yield from words_in(" ".join([*parameter.opts, getattr(parameter, "help", "") or ""]), path)
    for name, inner in getattr(command, "commands", {}).items():
        yield from command_words(inner, f"{path} {name}")
