"""Decisions are values; random draws stay within their range."""

from __future__ import annotations

from signalbox.controller.decision import Decision, draw


def test_an_empty_decision_changes_nothing() -> None:
    assert Decision() == Decision(records=(), response=None, effects=(), visibility=None)


def test_draw_uses_all_sides_and_no_other() -> None:
    assert {draw(3) for _ in range(200)} == {0, 1, 2}
    assert draw(1) == 0
