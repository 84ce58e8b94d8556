"""Collects the lines of one generated function set and the objects those lines name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SourceWriter:
    """Lines with indentation; `scope` holds what the generated code refers to by name."""

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
        """The lines written inside stand indented below `opening`."""
        self.line(opening)
        self._margin += " "
        yield
        self._margin = self._margin[:-1]

    def name(self, value: Any, stem: str) -> str:
        """A name by which the generated code can reach `value`; the same one for the same object."""
        known = self._names.get(id(value))
        if known is None:
            known = self._names[id(value)] = self.fresh(stem)
            self.scope[known] = value
        return known

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        self._counter += 1
        return f"{stem}{self._counter}"

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Lines written inside go to the front: helper functions that the main one calls."""
        lines, margin = self.lines, self._margin
        self.lines, self._margin = [], ""
        yield
        self.lines = self.lines + lines
        self._margin = margin

    def run(self, name: str) -> Any:
        """Execute what was written and hand back the object called `name`."""
        exec(compile("\n".join(self.lines), f"<signalbox codec {name}>", "exec"), self.scope)
        return self.scope[name]
