"""Configuration as tables: one row per key, read at start, by DescribeConfigs and by the reference page.

A package keeps its rows beside the code that applies them (`<package>/config_rows.py`); this module contains no key.
Values arrive as text with their origin. Reading collects every fault and does not stop at the first one, so that a user
sees the whole list at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from signalbox.common.visible_text import hide, passwords_in, visible

_SHOWN_CHARACTERS = 200  # of a value in a message; a sentence about the value may contain it a second time

Value = str | int | float | bool | list[str] | None

# Kafka's number formats: Python would also accept 1_000 and nan. Java's trim() removes the space and all below it.
LISTENER_PREFIX = "listener.name."
_TRIMMED = "".join(map(chr, range(0x21)))
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}")  # int() rejects thousands of digits with a message of its own
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class ConfigType(Enum):
    """Kafka's config types; the numbers are DescribeConfigs' ConfigType on the wire."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Dynamic(Enum):
    """How a key can change while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One fault of a configuration: the key, the entry of its value, what is wrong, what would be right."""

    key: str
    entry: str
    problem: str
    remedy: str
    origin: str = ""

    def __str__(self) -> str:
        where = f"{self.origin}: " if self.origin else ""
        passwords = passwords_in(self.entry)  # in an address, which needs none
        entry = f" ({shown(hide(self.entry, passwords))})" if self.entry else ""
        sentences = (shown(hide(text, passwords), 3 * _SHOWN_CHARACTERS) for text in (self.problem, self.remedy))
        return f"{where}{shown(self.key)}{entry}: {'. '.join(sentences)}"


def shown(text: str, limit: int = _SHOWN_CHARACTERS) -> str:
    """`text` as one line of a message: characters that cannot be printed are escaped, a long text is cut."""
    more = f"... ({len(text)} characters)" if len(text) > limit else ""
    return visible(text[:limit]) + more


Validator = Callable[[Value], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A validator that can tell what it accepts: `allowed` is a phrase for the reference page."""

    allowed: str
    validator: Validator

    def __call__(self, value: Value) -> str | None:
        return self.validator(value)


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One key. `validator` returns the reason why a parsed value is rejected, or None. `synonym` names the broker-level
    key whose value is the default of a topic-level one. `per_listener`: how the key of one listener (`ListenerKey`)
    can change; None if a listener cannot have this key. `per_mechanism`: whether a listener can have the key for each
    SASL mechanism."""

    name: str
    type: ConfigType
    default: Value
    doc: str
    validator: Validator | None = None
    dynamic: Dynamic = Dynamic.READ_ONLY
    synonym: str | None = None
    per_listener: Dynamic | None = None
    per_mechanism: bool = False

    @property
    def sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    def parse(self, text: str) -> Value:
        """The typed value of `text`; ValueError with the reason."""
        value = _PARSERS[self.type](text)
        if self.validator is not None and (problem := self.validator(value)):
            raise ValueError(problem)
        return value


class ConfigTable:
    """Rows by name. The caller handles unknown keys (a warning, never an error in Kafka)."""

    def __init__(self, rows: Iterable[ConfigRow]) -> None:
        self._rows: dict[str, ConfigRow] = {}
        for row in rows:
            if row.name in self._rows:
                raise ValueError(f"two rows for the config key {row.name}")
            self._rows[row.name] = row

    def __iter__(self) -> Iterator[ConfigRow]:
        return iter(self._rows.values())

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __getitem__(self, name: str) -> ConfigRow:
        return self._rows[name]

    def get(self, name: str) -> ConfigRow | None:
        return self._rows.get(name)

    def read(self, given: Mapping[str, str]) -> tuple[dict[str, Value], list[ConfigFault]]:
        """Typed values of all rows (the default where `given` has no value) and all faults."""
        values: dict[str, Value] = {row.name: row.default for row in self}
        faults = []
        for name, text in given.items():
            row = self._rows.get(name)
            if row is None:
                continue
            try:
                values[name] = row.parse(text)
            except ValueError as error:
                faults.append(ConfigFault(name, text, str(error), f"Expected {describe_type(row)}"))
        return values, faults


def describe_type(row: ConfigRow) -> str:
    """A row's type in words for an error message."""
    default = "" if row.default is None else f", by default {format_value(row.default)!r}"
    return f"a value of type {row.type.name.lower()}{default}"


def format_value(value: Value) -> str | None:
    """A value as text, the way DescribeConfigs shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float):
        return str(value).replace("e+", "E")  # the exponent as Java writes it
    return None if value is None else str(value)


def _boolean(text: str) -> Value:
    try:
        return {"true": True, "false": False}[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is neither true nor false") from None


def _integer(low: int, high: int) -> Callable[[str], Value]:
    def parse(text: str) -> Value:
        trimmed = text.strip(_TRIMMED)
        if not _WHOLE.fullmatch(trimmed):
            raise ValueError(f"{text!r} is not a whole number")
        value = int(trimmed)
        if not low <= value <= high:
            raise ValueError(f"{value} is not between {low} and {high}")
        return value

    return parse


def _double(text: str) -> Value:
    trimmed = text.strip(_TRIMMED)
    if not _DECIMAL.fullmatch(trimmed):
        raise ValueError(f"{text!r} is not a number")
    return float(trimmed)


_PARSERS: dict[ConfigType, Callable[[str], Value]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: str,
    ConfigType.INT: _integer(-(2**31), 2**31 - 1),
    ConfigType.SHORT: _integer(-(2**15), 2**15 - 1),
    ConfigType.LONG: _integer(-(2**63), 2**63 - 1),
    ConfigType.DOUBLE: _double,
    ConfigType.LIST: lambda text: [piece.strip() for piece in text.split(",") if piece.strip()],
    ConfigType.CLASS: str,
    ConfigType.PASSWORD: str,
}


def at_least(low: float) -> Validator:
    """Rejects numbers below `low`."""

    def check(value: Value) -> str | None:
        assert isinstance(value, int | float)
        return None if value >= low else f"{value} is below {low}"

    return Rule(f"≥ {low}", check)


def between(low: float, high: float) -> Validator:
    """Rejects numbers outside `low`..`high`, both included."""

    def check(value: Value) -> str | None:
        assert isinstance(value, int | float)
        return None if low <= value <= high else f"{value} is not between {low} and {high}"

    return Rule(f"{low} to {high}", check)


def one_of(*allowed: str) -> Validator:
    """Rejects text that is not one of `allowed`; for lists, every element is checked."""

    def check(value: Value) -> str | None:
        for piece in value if isinstance(value, list) else [str(value)]:
            if piece not in allowed:
                return f"{piece!r} is not one of {', '.join(allowed)}"
        return None

    return Rule(", ".join(f"`{piece}`" for piece in allowed), check)


@dataclass(frozen=True, slots=True)
class ListenerKey:
    """The parts of a key of one listener, `listener.name.<lower-case name>.<key>` or
    `listener.name.<name>.<mechanism>.<key>` (L5). `mechanism` is "" if the key holds for the whole listener."""

    listener: str
    mechanism: str
    row: ConfigRow


def read_listener_key(key: str, table: ConfigTable) -> ListenerKey | None:
    """None if `key` is not a listener key, or if `table` does not allow it per listener (or per mechanism)."""
    if not key.startswith(LISTENER_PREFIX):
        return None
    listener, _, rest = key.removeprefix(LISTENER_PREFIX).partition(".")
    mechanism, name = "", rest
    if rest not in table:
        mechanism, _, name = rest.partition(".")
    row = table.get(name)
    if not listener or row is None or row.per_listener is None or (mechanism and not row.per_mechanism):
        return None
    return ListenerKey(listener, mechanism, row)
