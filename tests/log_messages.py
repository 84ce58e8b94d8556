"""The messages that the source logs at WARNING, ERROR and CRITICAL, read from its syntax trees.

A message is the literal format string of a call of a logger (`log`, `_log`, `logger`) or of `TransitionLog.failed`,
with each placeholder as `<>`. A call of `log` with a level that is decided at run time counts at the highest level.
"""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_LEVELS = {"warning": "WARNING", "error": "ERROR", "exception": "ERROR", "critical": "CRITICAL"}
_LOGGERS = {"log", "_log", "logger"}
_PLACEHOLDER = re.compile(r"%[-+ #0-9.]*[a-zA-Z]")
_MAY_LOG = re.compile(r"\b_?log\.|\blogger\.|\.failed\(")  # most files do not: they are not parsed
_FORWARDS_LINES = {"common/log_limiter.py"}  # logs the line that its caller passes to `failed`

Message = tuple[str, str]
"""Level and text."""


def messages_of(source: Path) -> Iterator[Message]:
    """Every message in the files below `source`, except those of `testing`; a message may come several times."""
    for file in sorted(source.rglob("*.py")):
        place = file.relative_to(source)
        if place.parts[0] != "testing" and place.as_posix() not in _FORWARDS_LINES:
            yield from messages_in(file.read_text(encoding="utf-8"), place.as_posix())


def messages_in(text: str, place: str) -> Iterator[Message]:
    """The messages of one file. AssertionError if one is no literal: operators could not search for it."""
    if _MAY_LOG.search(text) is None:
        return
    tree = ast.parse(text)
    transitions = {name: level for name, value in _assigned(tree) for level in _transition_level(value)}
    for call, function in _calls(tree):
        if not isinstance(call.func, ast.Attribute):
            continue
        receiver, method, message = _last_name(call.func.value), call.func.attr, 0
        if receiver in transitions and method == "failed":
            level = transitions[receiver]
        elif receiver in _LOGGERS and method in _LEVELS:
            level = _LEVELS[method]
        elif receiver in _LOGGERS and method == "log":
            level, message = _highest(call.args[0], _assigned(function)), 1
        else:
            continue
        if logging.getLevelNamesMapping()[level] >= logging.WARNING:
            yield level, _text(call.args[message], f"{place}:{call.lineno}")


def normalized(message: str) -> str:
    """A message with named placeholders (`<broker>`) as `messages_of` returns it."""
    return re.sub(r"<[^<>]+>", "<>", message)


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Every call with the innermost function around it."""
    around: dict[ast.Call, ast.AST] = {}
    for scope in ast.walk(tree):  # outer functions come before inner ones
        if isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            around |= {node: scope for node in ast.walk(scope) if isinstance(node, ast.Call)}
    yield from around.items()


def _assigned(scope: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            yield from ((_last_name(target), node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield _last_name(node.target), node.value


def _last_name(node: ast.expr) -> str:
    """`log` of `log`, `self.log` and `self.log[0]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _transition_level(value: ast.expr) -> Iterator[str]:
    """The level of the `TransitionLog` that `value` makes, if it makes one."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and _last_name(node.func) == "TransitionLog":
            levels = [*node.args[2:3], *(each.value for each in node.keywords if each.arg == "level")]
            yield _highest(levels[0], []) if levels else "WARNING"


def _highest(level: ast.expr, assigned: Iterable[tuple[str, ast.expr]]) -> str:
    """The highest of the levels that the expression names, or that are assigned to the variable."""
    values = [value for name, value in assigned if isinstance(level, ast.Name) and name == level.id] or [level]
    numbers = logging.getLevelNamesMapping()
    names = [node.attr for value in values for node in ast.walk(value) if isinstance(node, ast.Attribute)]
    return max((name for name in names if name in numbers), key=numbers.__getitem__)


def texts_in(tree: ast.AST) -> Iterator[str]:
    """Every literal text, with what f-strings insert as `<>`; as it is (`%` is no placeholder)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _text(node: ast.expr, place: str) -> str:
    assert isinstance(node, ast.JoinedStr | ast.Constant), f"{place}: the message is no literal"
    text = next(texts_in(node))
    if isinstance(node, ast.Constant):
        text = _PLACEHOLDER.sub("<>", text).replace("%%", "%")
    assert re.search("[a-z]", text), f"{place}: the message is nothing but placeholders"
    return text
