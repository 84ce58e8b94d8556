"""Collects the source lines of generated functions and the objects that those lines refer to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SourceWriter:
    """Lines with indentation; `scope` has the objects that the generated code refers to by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._margin = ""
        self._counter = 0

    def line(self, text: str) -> None:
        self.lines.append(self._margin + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Lines written inside are indented below `opening`."""
        self.line(opening)
        self._margin += " "
        yield
        self._margin = self._margin[:-1]

    def name(self, value: Any, stem: str) -> str:
        """A name by which the generated code can use `value`; the same name for the same object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = self.fresh(stem)
            self.scope[name] = value
        return name

    def fresh(self, stem: str) -> str:
        """A name that is not used yet."""
        self._counter += 1
        return f"{stem}{self._counter}"

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Lines written inside are put at the front: helper functions that the main one calls."""
        lines, margin = self.lines, self._margin
        self.lines, self._margin = [], ""
        yield
        self.lines = self.lines + lines
        self._margin = margin

    def run(self, name: str) -> Any:
        """Execute the source and return the object called `name`."""
        exec(compile("\n".join(self.lines), f"<signalbox codec {name}>", "exec"), self.scope)
        return self.scope[name]
