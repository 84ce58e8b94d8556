from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.coordinator.transaction.id_pattern import MAX_LENGTH, IdPattern, Step

pytestmark = pytest.mark.spec("D5")


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("", "any", True),
        ("orders", "orders", True),
        ("orders", "orders-1", False),
        ("orders-.*", "orders-1", True),
        (".*-1", "orders-1", True),
        (r"a\.b", "a.b", True),
        (r"a\.b", "axb", False),
        ("a.b", "axb", True),
        ("ab+", "a", False),
        ("ab+", "abb", True),
    ],
)
def test_whole_names_match(pattern: str, name: str, matches: bool) -> None:
    parsed = IdPattern.parse(pattern)
    assert parsed is not None
    assert parsed.matches(name) is matches


@pytest.mark.parametrize("pattern", ["(a+)+", "[ab]", "a|b", "a{2}", "a?", "^a", "a$", "*", "a**", "a\\", "\\d"])
def test_other_operators_are_not_supported(pattern: str) -> None:
    assert IdPattern.parse(pattern) is None


STEPS = st.sampled_from(["a", "b", ".", r"\.", "a*", "b+", ".*", ".+"])


@given(st.lists(STEPS, min_size=1, max_size=6).map("".join), st.text("ab.", max_size=8))
def test_it_agrees_with_pythons_regular_expressions(pattern: str, name: str) -> None:
    parsed = IdPattern.parse(pattern)
    assert parsed is not None
    assert parsed.matches(name) == (re.fullmatch(pattern, name) is not None)


class CountedSteps(list[Step]):
    """Counts how often a step is read."""

    reads = 0

    def __getitem__(self, index: Any) -> Any:
        self.reads += 1
        return super().__getitem__(index)


def test_a_step_is_read_a_few_times_per_character() -> None:
    for count in (10, 100, 1_000):
        steps = CountedSteps([Step("", repeats=True)] * count + [Step("b")])
        assert not IdPattern(steps).matches("aaaa")
        assert steps.reads < 5 * 4 * count


def test_a_pattern_has_a_limit() -> None:
    assert IdPattern.parse("." * MAX_LENGTH) is not None
    assert IdPattern.parse("." * (MAX_LENGTH + 1)) is None
