"""The grammar of `.properties` files, with the line of each key.

Comments begin with `#` or `!`; a key ends at the first unescaped `=`, `:` or blank; a line that ends in an odd number
of backslashes continues in the next line; `\\t \\n \\r \\f \\uXXXX` are escapes and a backslash before any other
character stands for that character. If a key appears twice, the last value counts (as in Kafka); `duplicates` has the
earlier lines. A key with an old name (`old_keys`) is read as the key of today; `renamed` has the old names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.common.config.old_keys import current_name

# Java ends a line only at these: splitlines() would also cut at form feeds and at six more characters.
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {ord(char): f"\\{letter}" for letter, char in _ESCAPES.items()} | {ord("\\"): "\\\\"}
_ESCAPED_IN_KEYS = _ESCAPED | {ord(char): f"\\{char}" for char in "=: #!"}


@dataclass(slots=True)
class Properties:
    """Keys and values of one file. `lines` has the 1-based line of each key's last value, `duplicates` the earlier
    lines; `elsewhere` has the origin of values that are not from the file; `renamed` has pairs (old name, origin)."""

    origin: str
    values: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    duplicates: list[tuple[str, int]] = field(default_factory=list)
    elsewhere: dict[str, str] = field(default_factory=dict)
    renamed: list[tuple[str, str]] = field(default_factory=list)

    def where(self, key: str) -> str:
        """`file:line` of a key, or the file alone if the key is not in it."""
        if key in self.elsewhere:
            return self.elsewhere[key]
        return f"{self.origin}:{self.lines[key]}" if key in self.lines else self.origin

    def override(self, text: str, origin: str) -> None:
        """Set one `key=value` in place of the file's value. ValueError names a broken `\\u` escape."""
        given = parse_properties(text, origin)
        for key, value in given.values.items():
            self.values[key] = value
            self.elsewhere[key] = origin
        self.renamed += ((old_name, origin) for old_name, _ in given.renamed)


def parse_properties(text: str, origin: str = "server.properties") -> Properties:
    """All keys of `text`. ValueError names the line of a broken `\\u` escape."""
    found = Properties(origin)
    for number, line in _logical_lines(text):
        try:
            name, value = _split(line)
        except ValueError as error:
            raise ValueError(f"{origin}:{number}: {error}") from error
        key = current_name(name)
        if key != name:
            found.renamed.append((name, f"{origin}:{number}"))
        if key in found.values:
            found.duplicates.append((key, found.lines[key]))
        found.values[key] = value
        found.lines[key] = number
    return found


def properties_text(values: Mapping[str, str]) -> str:
    """A file of these values, from which `parse_properties` reads the same ones."""
    lines = []
    for key, value in values.items():
        first = "\\" if value.startswith(" ") else ""  # otherwise a blank there is no part of the value
        lines.append(f"{key.translate(_ESCAPED_IN_KEYS)}={first}{value.translate(_ESCAPED)}\n")
    return "".join(lines)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    pending, started = "", 0
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        started = started if pending else number
        if _continues(line):
            pending += line[:-1]
            continue
        lines.append((started, pending + line))
        pending = ""
    if pending:
        lines.append((started, pending))
    return lines


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    index = 0
    while index < len(line) and line[index] not in "=: \t\f":
        index += 2 if line[index] == "\\" else 1
    key, rest = line[:index], line[index:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return _unescape(key), _unescape(rest)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char != "\\" or index + 1 == len(text):
            out.append(char)
            index += 1
            continue
        escaped = text[index + 1]
        if escaped == "u":
            digits = text[index + 2 : index + 6]
            if not _HEXADECIMAL.fullmatch(digits):
                raise ValueError(f"\\u{digits} is not a character: expected four hexadecimal digits")
            if digits == "0000":
                raise ValueError("\\u0000 is no character of a key or a value: no file's name and no store can hold it")
            out.append(chr(int(digits, 16)))
            index += 6
            continue
        out.append(_ESCAPES.get(escaped, escaped))
        index += 2
    return _joined_surrogates("".join(out))


def _joined_surrogates(text: str) -> str:
    """Java writes a character beyond \\uffff as two escapes; one alone is not a character."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("a \\u escape from d800 to dfff is half a character: the other half is missing") from None
