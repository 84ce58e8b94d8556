"""Parameters whose values need no conversion: absent ones, defaults, texts.

typer converts values with pydantic, whose import takes longer than everything else that a short command does. It is
imported when a value must be converted or checked: a number, a path, a choice.
"""

from __future__ import annotations

from typing import Any

_CHECKS = ("parser", "click_type", "min", "max")


class _Conversion:
    """In place of typer's conversion of one parameter."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        self._slow = type(parameter).get_runtime_param
        descriptor = parameter.type_descriptor
        checked = any(getattr(descriptor.parameter_info, name, None) is not None for name in _CHECKS)
        self._is_text = not checked and descriptor.annotation is str
        self._is_texts = not checked and descriptor.annotation == list[str]

    def coerce(self, value: Any, **call: Any) -> Any:
        """The converted value; typer's BadParameter."""
        if value is None:
            return () if self._parameter.multiple or self._parameter.nargs == -1 else None
        if value is self._parameter.default or (self._is_text and isinstance(value, str)):
            return value
        if self._is_texts and isinstance(value, list | tuple):
            return list(value)
        return self._slow(self._parameter).coerce(value, **call)


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
