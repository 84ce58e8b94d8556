"""The topics of a run: names, and a pattern that is matched with the names of the cluster.

A pattern must match the whole name, as with Spark's `subscribePattern`. Kafka's internal topics are never matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.pipeline.options import OptionError


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """`names` in the order of the tables; `pattern` is a regular expression."""

    names: tuple[str, ...] = ()
    pattern: str | None = None

    @staticmethod
    def of(names: Iterable[str], pattern: str | None = None) -> TopicSelection:
        """From options of a command line, where a name may be a list with commas. Raises OptionError."""
        chosen = tuple(dict.fromkeys(name for text in names for name in text.split(",") if name))
        if not chosen and not pattern:
            raise OptionError(["no topic is named: give topics, or a pattern of their names"])
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise OptionError([f"the pattern {pattern!r} is no regular expression: {error}"]) from None
        return TopicSelection(chosen, pattern or None)

    @property
    def is_one(self) -> bool:
        """True if exactly one topic is named."""
        return len(self.names) == 1 and self.pattern is None

    def topics(self, existing: Iterable[str]) -> list[str]:
        """The named topics, then those of `existing` that the pattern matches, by name."""
        if self.pattern is None:
            return list(self.names)
        matched = sorted(name for name in existing if re.fullmatch(self.pattern, name))
        return list(dict.fromkeys((*self.names, *(name for name in matched if name not in INTERNAL_TOPICS))))
