"""Parameters that are converted without pydantic: absent ones, defaults, texts, numbers, paths.

typer converts values with pydantic, whose import takes longer than everything else that a short command does, and whose
messages are those of a library ("Input should be a valid integer"). It is imported for the other types: a choice, a
path that must exist.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import typer

_CHECKS = ("parser", "click_type", "min", "max")
_CHECKS_OF_PATH = ("exists", "writable", "resolve_path", "allow_dash")


class _Conversion:
    """In place of typer's conversion of one parameter."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        self._slow = type(parameter).get_runtime_param
        descriptor = parameter.type_descriptor
        info = self._info = descriptor.parameter_info
        checked = any(getattr(info, name, None) is not None for name in _CHECKS)
        self._is_text = not checked and descriptor.annotation is str
        self._is_texts = not checked and descriptor.annotation == list[str]
        custom = info.parser is not None or getattr(info, "click_type", None) is not None
        self._number = descriptor.annotation if descriptor.annotation in (int, float) and not custom else None
        plain = not custom and not any(getattr(info, name) for name in _CHECKS_OF_PATH)
        plain = plain and info.file_okay and info.dir_okay
        self._is_path = plain and descriptor.annotation is Path
        self._is_paths = plain and descriptor.annotation == list[Path]

    def coerce(self, value: Any, **call: Any) -> Any:
        """The converted value; typer's BadParameter."""
        if value is None:
            return () if self._parameter.multiple or self._parameter.nargs == -1 else None
        if value is self._parameter.default or (self._is_text and isinstance(value, str)):
            return value
        if self._is_texts and isinstance(value, list | tuple):
            return list(value)
        if self._number is not None and isinstance(value, str):
            return self._number_of(value, **call)
        if self._is_path and isinstance(value, str):
            return Path(value)
        if self._is_paths and isinstance(value, list | tuple):
            return [Path(item) for item in value]
        return self._slow(self._parameter).coerce(value, **call)

    def _number_of(self, text: str, **call: Any) -> int | float:
        """Messages as those of configuration files."""
        low, high = self._info.min, self._info.max
        try:
            number: int | float = self._number(text)  # type: ignore[misc]
        except ValueError:
            number = math.nan
        if math.isnan(number):
            kind = "a whole number" if self._number is int else "a number"
            raise typer.BadParameter(f"{text!r} is not {kind}", **call)
        if (low is not None and number < low) or (high is not None and number > high):
            between = f"between {low} and {high}" if None not in (low, high) else f"{low} or more"
            raise typer.BadParameter(f"{number} is not {between if low is not None else f'{high} or less'}", **call)
        return number


def _make_quick(parameter: Any) -> Any:
    if hasattr(parameter, "get_runtime_param") and hasattr(parameter, "type_descriptor"):
        conversion = _Conversion(parameter)
        parameter.get_runtime_param = lambda: conversion
    return parameter


def make_quick(command: Any) -> None:
    """Convert the parameters of a command, and of all commands below it, without pydantic where that is possible. A
    version of typer that converts in another way is left as it is."""
    for parameter in command.params:
        _make_quick(parameter)
    help_option = command.get_help_option
    command.get_help_option = lambda ctx: _make_quick(help_option(ctx))
    for inner in getattr(command, "commands", {}).values():
        make_quick(inner)
