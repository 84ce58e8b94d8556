"""Notifications reach every other participant, carry paths, and never block."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from signalbox.metadata.store.sqlite.change_notifier import EVERYTHING, ChangeNotifier


def test_a_ring_reaches_the_others_and_not_oneself(tmp_path: Path) -> None:
    bells = [ChangeNotifier(tmp_path) for _ in range(3)]
    bells[0].ring(["/a", "/ä"])
    assert [bell.heard() for bell in bells] == [set(), {"/a", "/ä"}, {"/a", "/ä"}]
    assert bells[1].heard() == set()
    for bell in bells:
        bell.close()
    assert os.listdir(tmp_path) == []


def test_too_many_paths_become_everything(tmp_path: Path) -> None:
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    one.ring([f"/brokers/topics/{number}" for number in range(2_000)])
    assert two.heard() == {EVERYTHING}
    one.close()
    two.close()


def test_a_deaf_bell_does_not_stop_the_ringer(tmp_path: Path) -> None:
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    for number in range(5_000):
        one.ring([f"/{number}"])
    assert "/0" in two.heard()
    one.close()
    two.close()


def test_an_abandoned_bell_is_taken_down_by_the_next_ring(tmp_path: Path) -> None:
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    two.abandon()
    assert len(os.listdir(tmp_path)) == 2
    one.ring(["/a"])
    assert len(os.listdir(tmp_path)) == 1
    one.close()


def test_a_ring_that_cannot_be_rung_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The commit before it has succeeded, so the caller must not get an error."""
    one, two = ChangeNotifier(tmp_path), ChangeNotifier(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        one.ring(["/a"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert "Commit notification failed" in caplog.text
    one.ring(["/b"])
    assert two.heard() == {"/b"}
    one.close()
    two.close()
