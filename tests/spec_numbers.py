"""The points of the specification, and how tests of them are chosen: `pytest -m spec_F`, `-m "spec_F5 or spec_M"`.

A test says `@pytest.mark.spec("F5", "M3")`; it is given a mark for each number and for each part of the specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

PARTS: dict[str, int] = {"L": 12, "C": 7, "F": 17, "M": 3, "R": 8}
"""Listeners, control plane, redirection, metadata store, misrouted connections: how many points each has."""

UNNUMBERED = ("D", "P")
"""What a broker is expected to do, and the pipeline."""

NUMBERS = (*(f"{part}{number}" for part, last in PARTS.items() for number in range(1, last + 1)), *UNNUMBERED)


def marks() -> Iterator[str]:
    """Every mark there is, with what it says, as `pytest --markers` shows it."""
    for part in (*PARTS, *UNNUMBERED):
        yield f"spec_{part}: the tests of that part of the specification"
    for number in NUMBERS:
        if number not in UNNUMBERED:
            yield f"spec_{number}: the tests of that point of the specification"


def mark_by_number(items: Iterable[pytest.Item]) -> None:
    """ValueError names a test with a number that there is not."""
    for item in items:
        for number in [number for mark in item.iter_markers("spec") for number in mark.args]:
            if number not in NUMBERS:
                raise ValueError(f"{item.nodeid}: the specification has no point {number!r}")
            for name in {f"spec_{number}", f"spec_{number[0]}"}:
                item.add_marker(name)
