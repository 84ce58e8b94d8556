"""Times on the command line: ISO 8601 (UTC unless a zone is named), milliseconds since the epoch, or an age (15m)."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

_AGE = re.compile(r"([0-9]+)([smhd])")
_LAST_MS = (1 << 63) - 1
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def instant_ms(text: str, now_ms: int | None = None) -> int:
    """Milliseconds since the epoch of `2026-11-26T19:00:00`, `1795719600000`, or `15m` (ago). ValueError for others,
    and for a time before 1970: Kafka takes negative numbers for the beginning and the end of a log."""
    instant = _instant_ms(text, now_ms)
    if not 0 <= instant <= _LAST_MS:
        raise ValueError(f"{text!r} is no time of a record: these begin in 1970 and have at most 63 bits")
    return instant


def _instant_ms(text: str, now_ms: int | None) -> int:
    if age := _AGE.fullmatch(text):
        now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        return now_ms - int(age[1]) * _SECONDS[age[2]] * 1_000
    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time: expected 2026-11-26T19:00:00 (UTC), milliseconds since the epoch, or an age such"
            " as 15m, 2h or 1d"
        ) from None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return int(instant.timestamp() * 1_000)


def instant_text(ms: int, precision: str = "seconds") -> str:
    """`2026-11-26T19:00:00Z` of milliseconds since the epoch."""
    try:
        instant = datetime.fromtimestamp(ms / 1_000, UTC)
    except (OverflowError, ValueError):
        return f"{ms} ms"  # a year outside of Python's calendar
    return instant.replace(tzinfo=None).isoformat(timespec=precision) + "Z"
