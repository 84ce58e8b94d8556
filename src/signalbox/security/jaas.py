"""JAAS configuration: Java's file format for login modules, which Kafka's users already have (L6).

    clients.KafkaServer {
        org.apache.kafka.common.security.plain.PlainLoginModule required
            username="admin" password="secret" user_admin="secret";
    };

A file holds sections, a section one login module per mechanism, each ended by `;`. The value of `sasl.jaas.config` is
one login module without a section. Only the options matter here; a module's class name says which mechanism it is for.

Words, quotes and escapes are those of Java's StreamTokenizer, with which Java and Kafka read both: `"` or `'` around
text with spaces or marks, closed in the same line; `\\n` and similar escapes; octal numbers; any other character behind
a backslash is literal; `//` and `/* */` are comments, here `#` as well. Java replaces `${property}` in a file; here it
stays as it is written, because there are no such properties.

Error messages name places, never the words found there: in an invalid text any word may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/|(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>(?!/\*)[^\s{};="']+)|(?P<mark>[{};=])""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
# Kafka's default of org.apache.kafka.disallowed.login.modules: with these a user who sets a configuration runs code.
_DENIED_MODULES = frozenset(f"com.sun.security.auth.module.{name}LoginModule" for name in ("Jndi", "Ldap"))

_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": ("PLAIN",),
    "org.apache.kafka.common.security.scram.ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": ("OAUTHBEARER",),
}
MODULE_OF_MECHANISM: Mapping[str, str] = {mechanism: name for name, found in _MODULES.items() for mechanism in found}
_USER_PREFIX = "user_"


class JaasError(ValueError):
    """The text is not a JAAS configuration; the message names the place."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One entry: the module's class, its flag, its options."""

    name: str
    flag: str
    options: Mapping[str, str]

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms of the module; () for an unknown module."""
        return _MODULES.get(self.name, ())

    @property
    def users(self) -> dict[str, str]:
        """PLAIN's users on a server: the `user_<name>` options."""
        return {
            key.removeprefix(_USER_PREFIX): value for key, value in self.options.items() if key.startswith(_USER_PREFIX)
        }


def parse_jaas_file(text: str) -> dict[str, tuple[LoginModule, ...]]:
    """Sections of a file by name. JaasError."""
    tokens = _Tokens(text)
    sections: dict[str, tuple[LoginModule, ...]] = {}
    while not tokens.at_end:
        name = tokens.word("a section name")
        tokens.mark("{")
        modules = []
        try:
            while not tokens.skip("}"):
                modules.append(_module(tokens))
            tokens.mark(";")
        except JaasError as error:
            raise JaasError(f"section {name}: {error}") from None
        if name in sections:
            raise JaasError(f"the section {name} is given twice")
        sections[name] = tuple(modules)
    return sections


def parse_jaas_config(text: str) -> LoginModule:
    """The one login module of a `sasl.jaas.config` value. JaasError."""
    tokens = _Tokens(text)
    modules = []
    while not tokens.at_end:
        modules.append(_module(tokens))
    if len(modules) != 1:
        raise JaasError(f"contains {len(modules)} login modules, should be 1 module")
    return modules[0]


@dataclass(frozen=True, slots=True)
class JaasFile:
    """The static file (`java.security.auth.login.config` in Java; the key `signalbox.sasl.jaas.file` here)."""

    sections: Mapping[str, tuple[LoginModule, ...]]
    location: str = ""

    def server_section(self, listener_name: str) -> str | None:
        """`<lower-case listener>.KafkaServer`, else `KafkaServer`: the first that exists is used, whatever is in it."""
        names = (f"{listener_name.lower()}.KafkaServer", "KafkaServer")
        return next((name for name in names if name in self.sections), None)

    def server_module(self, listener_name: str, mechanism: str) -> LoginModule | None:
        """The login module of a mechanism in the section of a listener."""
        modules = self.sections.get(self.server_section(listener_name) or "", ())
        return next((module for module in modules if mechanism in module.mechanisms), None)


def _module(tokens: _Tokens) -> LoginModule:
    name = tokens.word("the class of a login module")
    if name in _DENIED_MODULES:
        raise JaasError(f"{name} is not allowed")
    flag = tokens.word("a control flag").lower()
    if flag not in _FLAGS:
        place = tokens.place_of_last
        raise JaasError(f"the second word, {place}, is no control flag: expected one of {', '.join(sorted(_FLAGS))}")
    options = {}
    while not tokens.skip(";"):
        key = tokens.word("an option's name")
        tokens.mark("=")
        options[key] = tokens.value()
    return LoginModule(name, flag, options)


class _Tokens:
    """The text split into words, quoted values and marks."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_cut(text))
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def word(self, expected: str) -> str:
        return self._next(("word", "quoted"), expected)

    def value(self) -> str:
        return self._next(("word", "quoted"), "an option's value")

    def mark(self, mark: str) -> None:
        if self._next(("mark",), repr(mark)) != mark:
            raise JaasError(f"expected {mark!r} {self._where(self._at - 1)}")

    @property
    def place_of_last(self) -> str:
        """The place of the word that was taken last."""
        return f"in line {self._tokens[self._at - 1][2]}"

    def skip(self, mark: str) -> bool:
        """Take `mark` if it is the next token."""
        if not self.at_end and self._tokens[self._at][:2] == ("mark", mark):
            self._at += 1
            return True
        return False

    def _next(self, kinds: tuple[str, ...], expected: str) -> str:
        if self.at_end or self._tokens[self._at][0] not in kinds:
            raise JaasError(f"expected {expected} {self._where(self._at)}")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _where(self, at: int) -> str:
        if at >= len(self._tokens):
            return "at the end of the text (every login module ends with ';')"
        kind, text, line = self._tokens[at]
        token_text = repr(text) if kind == "mark" else f"a {kind}"
        return f"instead of {token_text.replace('quoted', 'quoted text')} in line {line}"


def _cut(text: str) -> Iterator[tuple[str, str, int]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        line = text.count("\n", 0, position) + 1
        if match is None:
            raise JaasError(f"line {line} holds an unclosed quote or comment")
        kind = match.lastgroup
        if kind == "quoted":
            # Passwords must not appear in messages: only their place does.
            yield "quoted", _ESCAPE.sub(_unescaped, match["quoted"][1:-1]), line
        elif kind is not None:
            yield kind, match[kind], line
        position = match.end()


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)
