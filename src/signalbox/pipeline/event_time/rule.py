"""The rule of a table about event time, from `--watermark event_time=10m --deduplicate id,kind`.

It is part of the table's state: every run of the table has the same rule, whether its options name it or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_UNITS_US = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}
_DELAY = re.compile(r"(\d+)([smhd])")
_MAX_DELAY_US = 100 * 365 * _UNITS_US["d"]  # a watermark stays far from the first time that Spark can write


@dataclass(frozen=True, slots=True)
class EventTimeRule:
    """`column`: the column with the time of a row's event. `delay_us`: how far the watermark is behind the greatest
    event time. `deduplicate`: the columns by which rows are compared; none: no row is dropped."""

    column: str
    delay_us: int
    deduplicate: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, content: Mapping[str, Any] | None) -> EventTimeRule | None:
        """The rule in a stored state. Raises KeyError, TypeError."""
        if content is None:
            return None
        return cls(str(content["column"]), int(content["delay_us"]), tuple(content["deduplicate"]))

    @property
    def text(self) -> str:
        """The rule as the options write it."""
        size, unit = next(
            ((self.delay_us // us, unit) for unit, us in _UNITS_US.items() if self.delay_us % us == 0), (0, "s")
        )
        delay = f"{size}{unit}" if self.delay_us else "0s"
        columns = f", deduplicate {','.join(self.deduplicate)}" if self.deduplicate else ""
        return f"watermark {self.column}={delay}{columns}"

    def fits(self, requested: EventTimeRule) -> bool:
        """True if a run with this rule does what was requested; a request without columns takes those of the table."""
        same = (requested.column, requested.delay_us) == (self.column, self.delay_us)
        return same and requested.deduplicate in ((), self.deduplicate)


def parse_watermark(text: str) -> tuple[str, int]:
    """Column and delay in microseconds of `event_time=10m`. Raises ValueError."""
    column, _, delay = text.rpartition("=")
    if not column:
        raise ValueError(f"watermark is {text!r}: write COLUMN=DELAY, such as event_time=10m")
    match = _DELAY.fullmatch(delay)
    if match is None:
        raise ValueError(f"watermark is {text!r}: the delay is 0s or more, in s, m, h or d, such as 30s, 10m, 2h, 1d")
    delay_us = int(match[1]) * _UNITS_US[match[2]]
    if delay_us > _MAX_DELAY_US:
        raise ValueError(f"watermark is {text!r}: the delay is 100 years at most")
    return column, delay_us


def event_time_faults(watermark: str | None, deduplicate: Sequence[str], *, upsert: bool) -> list[str]:
    """All that is wrong with the options of the rule."""
    faults = []
    if "" in deduplicate or len(set(deduplicate)) < len(deduplicate):
        faults.append(f"deduplicate is {', '.join(deduplicate)!r}: name each column once")
    if watermark is None:
        if deduplicate:
            faults.append(
                "deduplicate needs a watermark: without one each batch would be compared with the whole table; "
                "records are never repeated by topic, partition and offset anyway"
            )
        return faults
    try:
        parse_watermark(watermark)
    except ValueError as fault:
        faults.append(str(fault))
    if upsert and deduplicate:
        faults.append("upsert and deduplicate exclude each other: with upsert each key has one row already")
    if upsert:
        faults.append(
            "upsert and watermark exclude each other: a late record could not be replayed, because a newer one may "
            "have changed or deleted the row of its key"
        )
    return faults


def rule_of(watermark: str | None, deduplicate: Sequence[str]) -> EventTimeRule | None:
    """The rule of valid options; None = the options name none."""
    if watermark is None:
        return None
    column, delay_us = parse_watermark(watermark)
    return EventTimeRule(column, delay_us, tuple(deduplicate))
