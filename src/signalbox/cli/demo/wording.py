"""Texts of values in the demo and its report: for human readers, not as Python prints them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey

_API_NAMES = {key.name: API_TABLE[key].name for key in ApiKey}


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 request`, `2,000 requests`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listing(values: Iterable[Any]) -> str:
    """Values in order, comma-separated; `none` without any."""
    return ", ".join(sorted(map(str, values))) or "none"


def api_name(text: str) -> str:
    """Kafka's name of an API, from either form in which brokers write it."""
    return _API_NAMES.get(text, text)


def plain(value: Any) -> str:
    """A value of the figures: numbers with separators, yes and no, ranges of numbers as `from-to`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list):
        return ", ".join(_range(item) for item in value) or "none"
    return str(value)


def _range(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2:
        first, last = value
        return plain(first) if first == last else f"{plain(first)}-{plain(last)}"
    return plain(value)
