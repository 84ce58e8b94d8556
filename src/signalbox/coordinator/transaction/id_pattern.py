"""The pattern of ListTransactions 2 (KIP-1152): a regular expression that is matched in linear time.

A pattern has characters, `.` for any character, escaped operators, and `*` or `+` after each of these. Groups, classes,
alternatives and counts are not supported: with them the time of Python's regular expressions can grow exponentially,
and the pattern is a client's. A pattern matches the whole transactional id, as in Kafka. It has MAX_LENGTH characters
at most: each character of a transactional id may be compared with every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signalbox.common.cooperative_task import yielding

MAX_LENGTH = 256
_UNSUPPORTED = frozenset("?()[]{}|^$")
_ANY = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One character, `_ANY` for any; if it `repeats`, zero or more of it."""

    character: str
    repeats: bool = False

    def accepts(self, character: str) -> bool:
        return self.character in (_ANY, character)


class IdPattern:
    """The steps of a pattern. One without steps matches every transactional id."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    @classmethod
    def parse(cls, text: str) -> IdPattern | None:
        """None for an expression that is not supported, not valid or too long."""
        if len(text) > MAX_LENGTH:
            return None
        steps: list[Step] = []
        position, may_repeat = 0, False
        while position < len(text):
            character = text[position]
            position += 1
            if character in "*+":
                if not may_repeat:
                    return None
                last = steps[-1] if character == "+" else steps.pop()
                steps.append(Step(last.character, repeats=True))
                may_repeat = False
                continue
            if character == "\\":
                character = text[position : position + 1]
                position += 1
                if not character or character.isalnum():
                    return None
            elif character in _UNSUPPORTED:
                return None
            elif character == ".":
                character = _ANY
            steps.append(Step(character))
            may_repeat = True
        return cls(steps)

    def matches(self, name: str) -> bool:
        """Whether the whole name matches, in time in proportion to the product of both lengths. Yields."""
        if not self._steps:
            return True
        reached = self._skipping_repeats({0})
        for character in yielding(name):
            following = set()
            for index in reached:
                if index < len(self._steps) and self._steps[index].accepts(character):
                    following.add(index if self._steps[index].repeats else index + 1)
            reached = self._skipping_repeats(following)
        return len(self._steps) in reached

    def _skipping_repeats(self, reached: set[int]) -> set[int]:
        """A step that repeats may be passed without a character. Every step is looked at once."""
        result = set(reached)
        for index in reached:
            while index < len(self._steps) and index + 1 not in result and self._steps[index].repeats:
                index += 1
                result.add(index)
        return result
