"""One word and the place where a user meets it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# snake_case and CamelCase are divided; a plural of capitals (ACLs) and an escape (\n) are no words of their own.
_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ESCAPE = re.compile(
    r"\\[a-z]|%[-+ #0-9.]*[a-zA-Z](?![a-zA-Z])|\b0x[0-9a-fA-F]+\b|\b[0-9]+[a-zA-Z]+\b|\bU\+[0-9A-F]+|https?://\S+"
)
SHORTEST = 3
"""Letters: units and placeholders (ms, kb, x) are shorter."""


class Word(NamedTuple):
    """`text` in lower case; `place` is a file with its line, a key, a metric or a command."""

    text: str
    place: str


def words_in(text: str, place: str) -> Iterator[Word]:
    """The words of a sentence or of a name, without addresses, escapes and format directives."""
    for match in _WORD.findall(_ESCAPE.sub(" ", text)):
        word = match.removesuffix("s") if match[:-1].isupper() and match.endswith("s") else match
        if len(word) >= SHORTEST:
            yield Word(word.lower(), place)
