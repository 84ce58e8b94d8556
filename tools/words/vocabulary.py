"""The three vocabularies: plain English, the glossary, Kafka's own names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from spellchecker import SpellChecker

from signalbox.common.metrics import MetricName
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.stubs import message_classes, message_modules
from signalbox.server.metrics.metric_table.kafka import KAFKA_ROWS
from signalbox.server.reference.pages import CONFIG_SECTIONS
from tools.words.own_names import OWN_PREFIX, words_in

_TERM = re.compile(r"[A-Za-z]+")


class Vocabulary:
    """Looks up words in lower case. A word of the glossary is known with a plural s."""

    def __init__(self, english: Iterable[str], terms: Iterable[str]) -> None:
        self._english = english if isinstance(english, dict | set | frozenset) else frozenset(english)
        self._terms = frozenset(terms)

    def __contains__(self, word: str) -> bool:
        return word in self._english or word in self._terms or (word.endswith("s") and word[:-1] in self._terms)


def vocabulary(glossary: Path) -> Vocabulary:
    """What a word of this project may be; `glossary` is the page docs/glossary.md."""
    english = SpellChecker(language="en").word_frequency.dictionary
    return Vocabulary(frozenset(english), {*glossary_words(glossary.read_text()), *kafka_words()})


def glossary_words(page: str) -> Iterator[str]:
    """The words of the first column of each table of the page: the terms, not what explains them.

    A name with capitals inside (SQLite) is a term as a whole, too."""
    for line in page.splitlines():
        if line.startswith("| "):
            terms = line.split("|")[1]
            yield from (word.text for word in words_in(terms, "glossary"))
            yield from (term.lower() for term in _TERM.findall(terms))


def kafka_words() -> Iterator[str]:
    """The words of Kafka's messages and their fields, APIs, errors, configuration keys and metrics."""
    names = chain(
        _message_names(),
        (api.name for api in ApiKey),
        (error.name for error in Error),
        (row.name for _, table in CONFIG_SECTIONS for row in table if not row.name.startswith(OWN_PREFIX)),
        WITHOUT_EFFECT,
    )
    yield from (word.text for name in names for word in words_in(name, "kafka"))
    for row in KAFKA_ROWS:
        yield from _metric_words(row.name)


def _message_names() -> Iterator[str]:
    for message in chain.from_iterable(map(message_classes, message_modules())):
        schema = message.schema
        yield schema.name
        for struct in (schema.root, *schema.structs.values()):
            yield struct.name
            yield from (field.name for field in struct.fields)


def _metric_words(name: MetricName) -> Iterator[str]:
    """JMX exporters write each part of an MBean's name in lower case, as one word."""
    for part in (*name.group.split("."), name.type, name.name):
        yield part.lower()
        yield part.lower().removesuffix("persec")
        yield from (word.text for word in words_in(part, "kafka"))
