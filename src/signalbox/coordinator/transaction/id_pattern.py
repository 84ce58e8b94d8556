"""The pattern of ListTransactions 2 (KIP-1152): a regular expression that is matched in linear time.

A pattern has characters, `.` for any character, escaped operators, and `*` or `+` after each of these. Groups, classes,
alternatives and counts are not supported: with them the time of Python's regular expressions can grow exponentially,
and the pattern is a client's. A pattern matches the whole transactional id, as in Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass

_UNSUPPORTED = frozenset("?()[]{}|^$")
_ANY = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """One character, `_ANY` for any; if it `repeats`, zero or more of it."""

    character: str
    repeats: bool = False

    def accepts(self, character: str) -> bool:
        return self.character in (_ANY, character)


class IdPattern:
    """The steps of a pattern. One without steps matches every transactional id."""

    def __init__(self, steps: list[_Step]) -> None:
        self._steps = steps

    @classmethod
    def parse(cls, text: str) -> IdPattern | None:
        """None for an expression that is not supported or not valid."""
        steps: list[_Step] = []
        position, may_repeat = 0, False
        while position < len(text):
            character = text[position]
            position += 1
            if character in "*+":
                if not may_repeat:
                    return None
                last = steps[-1] if character == "+" else steps.pop()
                steps.append(_Step(last.character, repeats=True))
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
            steps.append(_Step(character))
            may_repeat = True
        return cls(steps)

    def matches(self, name: str) -> bool:
        """Whether the whole name matches. Takes time in proportion to the lengths of name and pattern."""
        if not self._steps:
            return True
        reached = self._skipping_repeats({0})
        for character in name:
            following = set()
            for index in reached:
                if index < len(self._steps) and self._steps[index].accepts(character):
                    following.add(index if self._steps[index].repeats else index + 1)
            reached = self._skipping_repeats(following)
        return len(self._steps) in reached

    def _skipping_repeats(self, reached: set[int]) -> set[int]:
        """A step that repeats may be passed without a character."""
        result = set(reached)
        for index in sorted(reached):
            while index < len(self._steps) and self._steps[index].repeats:
                index += 1
                result.add(index)
        return result
