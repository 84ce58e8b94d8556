from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.coordinator.transaction.id_pattern import IdPattern


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


def test_no_pattern_takes_long() -> None:
    parsed = IdPattern.parse(".*" * 50 + "b")
    assert parsed is not None
    assert not parsed.matches("a" * 2_000)
