"""A table drawn with lines, as wide as its cells need or as the terminal is; long cells continue on the next line.

Nothing is cut: what a cell shows is often what the next command needs. rich draws such tables too, but its import takes
as long as all else that a short command does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from unicodedata import combining, east_asian_width

_LINES = ("┏━┳┓", "┃", "┡━╇┩", "│", "└─┴┘")
_ASCII = ("+-++", "|", "+-++", "|", "+-++")
_BESIDE = 3  # two blanks and a line for each column
_NARROWEST = 4


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, ascii_only: bool = False
) -> Iterator[str]:
    """The lines of a table. `width`: the characters that a line may have, None for any number; a table with very many
    columns is wider."""
    top, heading, middle, cell, bottom = _ASCII if ascii_only else _LINES
    widths = [max(map(_longest_line, column)) for column in zip(columns, *rows, strict=True)]
    if width is not None:
        _narrow(widths, width - _BESIDE * len(widths) - 1)
    yield _rule(top, widths)
    yield from _row(heading, columns, widths)
    yield _rule(middle, widths)
    for row in rows:
        yield from _row(cell, row, widths)
    yield _rule(bottom, widths)


def encodes_lines(encoding: str | None) -> bool:
    """Whether output in this encoding can have the lines of a table."""
    try:
        "".join(_LINES).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def text_width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text)


def _longest_line(text: str) -> int:
    return max(map(text_width, text.splitlines()), default=0)


def _narrow(widths: list[int], total: int) -> None:
    """Take from the widest columns what is too much."""
    while (excess := sum(widths) - total) > 0 and max(widths) > _NARROWEST:
        widest = max(widths)
        next_widest = max([width for width in widths if width < widest], default=_NARROWEST)
        columns = [index for index, width in enumerate(widths) if width == widest]
        narrowed = max(next_widest, widest - -(-excess // len(columns)), _NARROWEST)
        for index in columns:
            widths[index] = narrowed


def _rule(characters: str, widths: Iterable[int]) -> str:
    left, line, between, right = tuple(characters)
    return left + between.join(line * (width + 2) for width in widths) + right


def _row(line: str, texts: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [list(_folded(text, width)) for text, width in zip(texts, widths, strict=True)]
    for number in range(max(map(len, cells))):
        pieces = [cell[number] if number < len(cell) else "" for cell in cells]
        filled = (piece + " " * (width - text_width(piece)) for piece, width in zip(pieces, widths, strict=True))
        yield f"{line} " + f" {line} ".join(filled) + f" {line}"


def _folded(text: str, width: int) -> Iterator[str]:
    """The lines of a cell: broken behind a blank if there is one, else anywhere; no character is lost."""
    for line in text.splitlines() or [""]:
        while text_width(line) > width:
            end = next(end for end in range(len(line), 0, -1) if text_width(line[:end]) <= width or end == 1)
            blank = line.rfind(" ", 0, end + 1)
            cut = blank if blank > 0 else end
            yield line[:cut]
            line = line[cut:].removeprefix(" ") if blank > 0 else line[cut:]
        yield line
