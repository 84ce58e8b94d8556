"""`ssl.principal.mapping.rules`: maps a certificate's distinguished name to a user name (KIP-371).

Rules are separated by commas: `RULE:pattern/replacement/`, followed by `L` or `U` for lower or upper case, or
`DEFAULT`, the unchanged name. The first rule whose pattern matches the whole name applies. Patterns are Java's regular
expressions; Python's differ little for patterns used here, and a pattern that Python cannot compile is rejected at
start. A replacement has Java's `$1`, and a backslash before a literal character; a `$` with a number that is not a
group of the pattern stays as it is, as in Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER = re.compile(_RULE)
_JAVA_NAMED_GROUP = re.compile(r"\(\?<(?=[a-zA-Z])")
_CASES: dict[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}

_Part = str | int


class NoMatchingRule(ValueError):
    """No rule matches this name: the peer is rejected."""


@dataclass(frozen=True, slots=True)
class MappingRule:
    """One rule; `pattern` None is DEFAULT. `replacement` is text and group numbers."""

    pattern: re.Pattern[str] | None = None
    replacement: tuple[_Part, ...] = ()
    case: str = ""

    def apply(self, name: str) -> str | None:
        """The user name; None when the rule does not match `name`."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        return _CASES[self.case](self.pattern.sub(self._expand, name))

    def _expand(self, matched: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else matched[part] or "" for part in self.replacement)


class PrincipalMapping:
    """The rules of one listener."""

    def __init__(self, rules: tuple[MappingRule, ...]) -> None:
        self._rules = rules

    def user_name(self, distinguished_name: str) -> str:
        """The user name for a certificate's distinguished name; NoMatchingRule when no rule matches."""
        for rule in self._rules:
            mapped = rule.apply(distinguished_name)
            if mapped is not None:
                return mapped
        raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules is for {distinguished_name}")


def parse_principal_mapping(text: str) -> PrincipalMapping:
    """The mapping of a configuration value; ValueError names the invalid rule."""
    rules = (_parse_rule(matched[1]) for matched in _SPLITTER.finditer(text.strip()))
    return PrincipalMapping(tuple(rule for rule in rules if rule is not None))


def _parse_rule(text: str) -> MappingRule | None:
    """None for an empty rule, which Kafka ignores."""
    matched = _PARSER.match(text)
    if matched is None or matched.end() != len(text):
        raise ValueError(f"{text!r} is neither DEFAULT nor RULE:pattern/replacement/, with L or U behind it at most")
    default, pattern, replacement, case = matched[1], matched[2], matched[3], matched[4]
    if default is not None:
        return MappingRule()
    if pattern is None:
        return None
    try:
        compiled = re.compile(_JAVA_NAMED_GROUP.sub("(?P<", pattern))
        return MappingRule(compiled, tuple(_parts(replacement, compiled)), case)
    except (re.error, ValueError) as error:
        raise ValueError(f"{text!r}: {error}") from error


def _parts(replacement: str, pattern: re.Pattern[str]) -> list[_Part]:
    """Java's Matcher.appendReplacement, but as in Kafka a number without a group is not an error."""
    parts: list[_Part] = []
    rest = replacement
    while rest:
        head, rest = rest[0], rest[1:]
        if head == "\\":
            parts.append(rest[:1])  # the grammar requires a character behind every backslash
            rest = rest[1:]
        elif head != "$":
            parts.append(head)
        elif named := re.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", rest):
            if named[1] not in pattern.groupindex:
                raise ValueError(f"the pattern has no group {named[1]}")
            parts.append(pattern.groupindex[named[1]])
            rest = rest[named.end() :]
        elif digits := re.match(r"[0-9]+", rest):
            group, length = _group(digits[0], pattern.groups)
            parts.append("$" if group is None else group)
            rest = rest[length:]
        else:
            raise ValueError("a $ must have the number of a group behind it, or a backslash before it")
    return parts


def _group(digits: str, groups: int) -> tuple[int | None, int]:
    """The longest prefix of `digits` that is a group number, and its length; (None, 0) without one."""
    if int(digits[0]) > groups:
        return None, 0
    length = 1
    while length < len(digits) and int(digits[: length + 1]) <= groups:
        length += 1
    return int(digits[:length]), length
