"""Runs of fixed fields in a generated decoder: collected while the writer walks a layout, read by one call.

Local names of the generated source are those of `compile_decode.py`.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from signalbox.protocol.codec.source_writer import SourceWriter
from signalbox.protocol.codec.wire_formats import LETTER_SIZES, ArrayReader


class FixedFields:
    """Targets and letters of the fields that the source does not read yet. `leading_array`: target and letter of an
    array of numbers before them, whose count is already read."""

    def __init__(self, out: SourceWriter, flexible: bool) -> None:
        self._out = out
        self._flexible = flexible
        self._run: list[tuple[str, str]] = []
        self.leading_array: tuple[str, str] | None = None

    def add(self, target: str, letters: str) -> None:
        """Add a field behind the others."""
        self._run.append((target, letters))

    def flush(self) -> None:
        """Read all pending fixed fields with one call and step over them."""
        if not self._run and self.leading_array is None:
            return
        letters = "".join(letter for _, letter in self._run)
        size = sum(LETTER_SIZES[letter] for _, letter in self._run)
        targets = ", ".join(target for target, _ in self._run)
        if self.leading_array is not None:
            target, element = self.leading_array
            bias = int(self._flexible)
            reader = self._out.name(ArrayReader(element, letters, bias), "A")
            width = LETTER_SIZES[element]
            self._out.line("e = o")
            self._out.line(f"o += {width} * n + {size - width * bias}")
            self._out.line(f"*{target}, {targets} = {reader}[n](b, e)")
        elif letters == "B":
            self._out.line(f"{targets} = b[o]")
            self._out.line("o += 1")
        else:
            unpack = self._out.name(_unpacker(letters), "S")
            self._out.line(f"{targets} = {unpack}(b, o)" if len(self._run) > 1 else f"{targets}, = {unpack}(b, o)")
            self._out.line(f"o += {size}")
        self._run = []
        self.leading_array = None

    def read_length(self, classic_letter: str, slow: str = "V") -> None:
        """Read the length `n` together with the pending run; compact lengths keep their +1."""
        self.add("n", "B" if self._flexible else classic_letter)
        self.flush()
        if self._flexible:
            self._out.line(f"if n > 127: n, o = {slow}(b, o - 1)")


_UNPACKERS: dict[str, Any] = {}


def _unpacker(letters: str) -> Any:
    """Shared by all messages: equal runs have one Struct. The schemas bound their number."""
    if letters not in _UNPACKERS:
        _UNPACKERS[letters] = Struct(f">{letters}").unpack_from
    return _UNPACKERS[letters]
