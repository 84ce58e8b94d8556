"""The points of the specification, and how their tests are selected: `pytest -m spec_F`, `-m "spec_F5 or spec_M"`.

A test declares `@pytest.mark.spec("F5", "M3")`; it gets a mark for each number and for each part of the specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

PARTS: dict[str, int] = {"L": 12, "C": 7, "F": 17, "M": 3, "R": 10, "D": 16, "P": 12}
"""Number of points per part: listeners, control plane, forwarding, metadata store, misroutes, broker, pipeline."""

NUMBERS = tuple(f"{part}{number}" for part, last in PARTS.items() for number in range(1, last + 1))

UNBUILT = frozenset(
    [
        "C5",
        *("D9", "D10", "D11", "D13", "D14", "D15"),
        "P11",
    ]
)
"""Points that are not built, or not completely: the rows `planned` of docs/conformance.toml. A point that is built is
removed here and there; no point may be added."""


def marks() -> Iterator[str]:
    """Every mark with its description, as `pytest --markers` shows it."""
    for part in PARTS:
        yield f"spec_{part}: the tests of that part of the specification"
    for number in NUMBERS:
        yield f"spec_{number}: the tests of that point of the specification"


def mark_by_number(items: Iterable[pytest.Item]) -> None:
    """Adds the marks. ValueError names a test with a number that does not exist."""
    for item in items:
        for number in [number for mark in item.iter_markers("spec") for number in mark.args]:
            if number not in NUMBERS:
                raise ValueError(f"{item.nodeid}: the specification has no point {number!r}")
            for name in {f"spec_{number}", f"spec_{number[0]}"}:
                item.add_marker(name)
