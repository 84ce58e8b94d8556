"""Banned words: `banned_words.toml` has the words, where they are banned, and what to write instead."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.architecture.exceptions import is_excepted
from tests.architecture.excess import Excess, Place, count_per_file
from tests.architecture.source_tree import SourceFile

RULES_FILE = Path(__file__).with_name("banned_words.toml")
# The words of a sentence or of a name: snake_case and CamelCase are divided.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Rule:
    """Banned words with one replacement; the file of the rules explains the fields."""

    words: tuple[str, ...]
    instead: str
    where: str = "text"
    unless: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()

    @cached_property
    def key_words(self) -> frozenset[str]:
        """The longest word of each phrase: a line without any of these has no match."""
        return frozenset(max(phrase.lower().split(), key=len) for phrase in self.words)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches an `unless` phrase outside the group `hit`, so that the word inside it is passed over."""
        if self.where == "identifiers":
            return re.compile(rf"\b_*(?P<hit>{'|'.join(self.words)})\b")
        allowed = [form for phrase in self.unless for form in _forms(phrase)]
        hits = "|".join(form for word in self.words for form in _forms(word))
        return re.compile("|".join([*allowed, f"(?P<hit>{hits})"]))

    def hits_in(self, line: str) -> list[str]:
        """The banned words of a line, as they are written there."""
        return [match["hit"] for match in self.pattern.finditer(line) if match["hit"]]


def load_rules(path: Path = RULES_FILE) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            words=tuple(row["words"]),
            instead=row["instead"],
            where=row.get("where", "text"),
            unless=tuple(row.get("unless", ())),
            not_in=tuple(row.get("not_in", ())),
        )
        for row in tomllib.loads(path.read_text())["rule"]
    )


def banned_words(files: Sequence[SourceFile], rules: Sequence[Rule]) -> list[Excess]:
    """The banned words of each file."""
    by_key_word: dict[str, list[Rule]] = {}
    for rule in rules:
        for word in rule.key_words:
            by_key_word.setdefault(word, []).append(rule)
    return count_per_file([place for file in files for place in _places(file, by_key_word)])


def _places(file: SourceFile, by_key_word: Mapping[str, Sequence[Rule]]) -> Iterator[Place]:
    """Patterns are compared only with lines that have a key word of the rule: most lines have none."""
    lowered = file.text.lower()
    rules_of_line: dict[int, dict[int, Rule]] = {}
    for word in by_key_word.keys() & {word.lower() for word in set(_WORD.findall(file.text))}:
        rules = [rule for rule in by_key_word[word] if _concerns(rule, file)]
        for match in re.finditer(word, lowered):
            if _is_word(file.text, match.start(), match.end()):
                line = bisect_right(file.line_starts, match.start()) - 1
                rules_of_line.setdefault(line, {}).update((id(rule), rule) for rule in rules)
    for line, line_rules in sorted(rules_of_line.items()):
        for rule in line_rules.values():
            for hit in rule.hits_in((file.rows if rule.where == "text" else file.code_rows)[line]):
                yield Place(file.path, line + 1, f"`{hit}` is a banned word: use {rule.instead}")


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether letters do not go on before and after; a capital begins a word of a name."""
    return not text[end : end + 1].islower() and (text[start].isupper() or not text[start - 1 : start].islower())


def _concerns(rule: Rule, file: SourceFile) -> bool:
    return (rule.where == "text" or file.is_python) and not is_excepted(file.path, rule.not_in)


def _forms(phrase: str) -> tuple[str, str, str]:
    """Patterns of a phrase: `two words`, `two_words`, `two-words`; `TwoWords`, `Two words`; `TWO_WORDS`."""
    words = phrase.split()
    lower = r"[ _-]".join(words)
    title = r"[ _-]?".join([words[0].capitalize(), *(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in words[1:])])
    upper = r"[ _-]".join(word.upper() for word in words)
    return (
        rf"(?<![A-Za-z]){lower}(?![a-z])",
        rf"(?<![A-Z]){title}(?![a-z])",
        rf"(?<![A-Za-z]){upper}(?![A-Za-z])",
    )
