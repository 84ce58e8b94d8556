"""A failure is logged when it begins, when its message changes, and when it ends."""

from __future__ import annotations

import logging

import pytest

from signalbox.common.transition_log import TransitionLog


def test_a_line_is_logged_when_a_failure_begins_changes_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    transitions = TransitionLog(logging.getLogger("test"), "recovered", logging.ERROR)
    transitions.recovered()
    for line in ("failing", "failing", "worse", "worse"):
        transitions.failed(line)
        assert transitions.is_failing
    transitions.recovered()
    transitions.recovered()
    assert not transitions.is_failing
    transitions.failed("worse")
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("ERROR", "failing"),
        ("ERROR", "worse"),
        ("INFO", "recovered"),
        ("ERROR", "worse"),
    ]


def test_without_a_recovery_line_the_end_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    transitions = TransitionLog(logging.getLogger("test"))
    transitions.failed("50% failing")
    transitions.recovered()
    assert [each.message for each in caplog.records] == ["50% failing"]
