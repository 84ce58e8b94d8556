"""Where the words of this project stand: its names, log messages, keys, metrics, command line and pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import typer.main

from signalbox.cli.main import app
from signalbox.server.metrics.metric_table.own import OWN_ROWS
from signalbox.server.reference.pages import CONFIG_SECTIONS
from tools.words.word import Word, words_in

OWN_PREFIX = "signalbox."
"""Configuration keys that Kafka does not have."""
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log", "failed"})
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>", re.MULTILINE | re.DOTALL)
_FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


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
