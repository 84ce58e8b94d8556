"""When a client has passed a story."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.testing.drill.story_result import StoryResult

pytestmark = pytest.mark.spec("R7")


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, None),
        ({"served": frozenset({1, 2})}, None),
        ({"failed": 6}, None),
        ({"sent_identity": False}, None),
        ({"lost": 1}, "1 acknowledged records are lost"),
        ({"repeated": 2}, "2 records are stored twice"),
        ({"misplaced": 3}, "3 records are in the other cluster"),
        ({"served": frozenset({2})}, "no record of partition 1 was acknowledged, though its leader was reachable"),
        ({"recovered_ms": None}, "it did not go on when the routes were right again"),
        ({"recovered_ms": None, "errors": ["it raised"]}, "it raised"),
    ],
)
def test_a_client_passes_without_faults(values: dict[str, Any], fault: str | None) -> None:
    good = {"story": "s", "expected": frozenset({1}), "served": frozenset({1}), "recovered_ms": 5.0}
    result = StoryResult(**{**good, **values})
    assert result.faults == ([fault] if fault else [])
    assert result.passed is (fault is None)
