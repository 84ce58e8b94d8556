"""A failure is logged when it begins, when its message changes, and when it ends."""

from __future__ import annotations

import logging

import pytest

from signalbox.common.transition_log import TransitionLog


def test_it_is_said_when_it_begins_changes_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trouble = TransitionLog(logging.getLogger("test"), "well again", logging.ERROR)
    trouble.over()
    for line in ("ill", "ill", "worse", "worse"):
        trouble.met(line)
        assert trouble.lasts
    trouble.over()
    trouble.over()
    assert not trouble.lasts
    trouble.met("worse")
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("ERROR", "ill"),
        ("ERROR", "worse"),
        ("INFO", "well again"),
        ("ERROR", "worse"),
    ]


def test_an_end_without_words_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trouble = TransitionLog(logging.getLogger("test"))
    trouble.met("50% ill")
    trouble.over()
    assert [each.message for each in caplog.records] == ["50% ill"]
