"""The help of a command in the usual form: `NAME`, `N`, `PATH` in place of Python's types, and short lines that are not
cut."""

from __future__ import annotations

import re
from typing import Any

_SENTENCE = re.compile(r"(.+?\.)(\s|$)", re.DOTALL)
_PLACEHOLDERS = {"int": "N", "float": "NUMBER", "path": "PATH", "file": "PATH", "directory": "PATH"}


def polish_help(command: Any) -> None:
    """Change the help of a command and of all commands below it."""
    command.short_help = first_sentence(command.help or "")
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            _polish_argument(parameter)
        elif parameter.metavar is None and not parameter.is_flag:
            parameter.metavar = _placeholder(parameter)
    for inner in getattr(command, "commands", {}).values():
        polish_help(inner)


def first_sentence(text: str) -> str:
    """The first sentence, on one line."""
    match = _SENTENCE.match(text)
    return " ".join((match[1] if match else text).split())


def _polish_argument(parameter: Any) -> None:
    name = parameter.metavar or parameter.name.upper() + ("..." if parameter.nargs != 1 else "")
    parameter.metavar = name
    parameter.display_type_rich = lambda ctx: ""
    parameter._usage_display_name = lambda: name if parameter.required else f"[{name}]"


def _placeholder(parameter: Any) -> str:
    """`N` for numbers, `PATH` for files, else `TEXT`."""
    type_text = parameter.display_type(None)
    return next((placeholder for name, placeholder in _PLACEHOLDERS.items() if name in type_text), "TEXT")
